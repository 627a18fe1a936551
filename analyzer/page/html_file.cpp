// Purpose: puts the data of a page, its script and its style into one HTML file.
#include "analyzer/page/html_file.h"

#include <fmt/core.h>

#include <string_view>

#include "analyzer/files/gzip.h"
#include "analyzer/page/page_assets.h"
#include "analyzer/page/page_block.h"

namespace memtrace::report {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char character : text) {
    switch (character) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += character;
    }
  }
  return out;
}

// Returns the source of an inline script or style for the policy: 'sha256-...'.
std::string source_of(const PageAsset& asset) {
  const auto digit = [](char hex) { return hex <= '9' ? hex - '0' : hex - 'a' + 10; };
  std::string hash;
  for (std::size_t i = 0; i + 1 < asset.sha256.size(); i += 2)
    hash += static_cast<char>(digit(asset.sha256[i]) << 4 | digit(asset.sha256[i + 1]));
  return "'sha256-" + base64(hash) + "'";
}

} // namespace

bool has_page() {
  return !kPageScript.text.empty();
}

std::string html_file(const HtmlParts& parts) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src {}; style-src {}; "
      "img-src data: blob:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>memtrace: {}</title>\n<style>{}</style></head>\n<body><div id=\"page\"></div>\n<pre id=\"text\">",
      source_of(kPageScript), source_of(kPageStyle), escaped(parts.title), kPageStyle.text);
  out += escaped(parts.text);
  out += "</pre>\n<script type=\"application/octet-stream\" id=\"data\">";
  out += base64(files::gzip(parts.data));
  out += "</script>\n<script>";
  out += kPageScript.text;
  return out + "</script></body></html>\n";
}

} // namespace memtrace::report
