#include "common/output_xml.h"

namespace canopy {
namespace {

void AppendXml(std::string_view text, std::string* out) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      *out += "&amp;";
    } else if (c == '<') {
      *out += "&lt;";
    } else if (c == '>') {
      *out += "&gt;";
    } else if (c == '"') {
      *out += "&quot;";
    } else if (byte < 32 || byte >= 127) {
      *out += "&#" + std::to_string(byte) + ";";
    } else {
      *out += c;
    }
  }
}

}  // namespace

std::string OutputElement(std::string_view channel, const ProcId& source,
                          std::string_view time, std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  std::string out = "<" + std::string(channel) + " nspace=\"";
  AppendXml(source.nspace, &out);
  out += "\" rank=\"" + std::to_string(source.rank) + "\"";
  if (!time.empty()) out += " timestamp=\"" + std::string(time) + "\"";
  out += ">";
  AppendXml(line, &out);
  return out + "</" + std::string(channel) + ">\n";
}

}  // namespace canopy
