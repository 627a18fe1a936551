// Purpose: puts the data of a page, its script and its style into one HTML file.
#pragma once

#include <string>

namespace memtrace::report {

// True if this build has the page's script: esbuild was there.
bool has_page();

struct HtmlParts {
  std::string title; // "train.py pid 4242"
  std::string text;  // the text report, for a browser that cannot run the page
  std::string data;  // of PageBlock
};

// Returns the file. Its policy lets a browser run only the page's own script, and load nothing.
std::string html_file(const HtmlParts& parts);

} // namespace memtrace::report
