// Purpose: a report's JSON as a tree, as those that read it see it.
#pragma once

#include "analyzer/print/json/document.h"

namespace memtrace::tests {

inline report::Json parsed(report::Document&& document) {
  std::string text;
  for (const std::string& piece : std::move(document).take()) text += piece;
  return report::Json::parse(text);
}

} // namespace memtrace::tests
