#include "client/cli/run/line_assembler.h"

#include <algorithm>

namespace canopy::cli {

LineAssembler::LineAssembler(LineAssemblerOptions options)
    : options_(std::move(options)) {}

void LineAssembler::Add(OutputStream stream, std::string_view data,
                        int64_t now_ms, std::string* out) {
  if (data.empty()) return;
  const auto held = held_by_.find(stream);
  const size_t last = data.rfind('\n');
  if (last != std::string_view::npos) {
    if (held != held_by_.end()) {
      // The prefix of the held part applies to the whole line.
      const size_t first = data.find('\n');
      held->second.text.append(data.substr(0, first + 1));
      held_ += first + 1;
      Release(stream, &held->second, out);
      held_by_.erase(held);
      Emit(stream, data.substr(first + 1, last - first), out);
    } else {
      Emit(stream, data.substr(0, last + 1), out);
    }
    data.remove_prefix(last + 1);
    if (data.empty()) return;
  }
  Held& rest = held_by_[stream];
  rest.text.append(data);
  rest.changed_ms = now_ms;
  held_ += data.size();
  if (rest.text.size() > options_.max_line) {
    Release(stream, &rest, out);
    held_by_.erase(stream);
  }
  while (held_ > options_.max_held) ReleaseLongest(out);
}

void LineAssembler::Close(OutputStream stream, std::string* out) {
  const auto held = held_by_.find(stream);
  if (held == held_by_.end()) return;
  Release(stream, &held->second, out);
  held_by_.erase(held);
}

void LineAssembler::FlushOlder(int64_t since_ms, std::string* out) {
  for (auto it = held_by_.begin(); it != held_by_.end();) {
    if (it->second.changed_ms > since_ms) {
      ++it;
      continue;
    }
    Release(it->first, &it->second, out);
    it = held_by_.erase(it);
  }
}

void LineAssembler::FlushAll(std::string* out) { FlushOlder(INT64_MAX, out); }

std::optional<int64_t> LineAssembler::OldestHeld() const {
  std::optional<int64_t> oldest;
  for (const auto& [stream, held] : held_by_) {
    oldest = std::min(oldest.value_or(INT64_MAX), held.changed_ms);
  }
  return oldest;
}

void LineAssembler::Release(OutputStream stream, Held* held, std::string* out) {
  held_ -= held->text.size();
  Emit(stream, held->text, out);
}

void LineAssembler::ReleaseLongest(std::string* out) {
  const auto longest = std::ranges::max_element(
      held_by_, {}, [](const auto& h) { return h.second.text.size(); });
  Release(longest->first, &longest->second, out);
  held_by_.erase(longest);
}

bool LineAssembler::EmitReplaced(OutputStream stream, std::string_view text,
                                 std::string* out) {
  if (!options_.replacement) return false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const auto line = options_.replacement(stream, text.substr(0, end));
    if (!line) return false;
    *out += *line;
    text.remove_prefix(end);
  }
  return true;
}

void LineAssembler::Emit(OutputStream stream, std::string_view text,
                         std::string* out) {
  if (text.empty()) return;
  bool continues = open_ == stream;
  if (open_.has_value() && !continues) *out += '\n';
  open_.reset();
  if (EmitReplaced(stream, text, out)) return;
  if (text.back() != '\n') open_ = stream;
  const std::string prefix =
      options_.prefix ? options_.prefix(stream) : std::string();
  if (prefix.empty()) {
    out->append(text);
    return;
  }
  while (!text.empty()) {
    if (!continues) *out += prefix;
    continues = false;
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    out->append(text.substr(0, end));
    text.remove_prefix(end);
  }
}

}  // namespace canopy::cli
