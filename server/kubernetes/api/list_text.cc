#include "server/kubernetes/api/list_text.h"

#include <algorithm>

namespace canopy::kubernetes {
namespace {

constexpr char kSpace[] = " \t\r\n";
constexpr size_t kNone = std::string_view::npos;

// Returns the end of the string that begins at `at`, or kNone.
size_t EndOfString(std::string_view text, size_t at) {
  while (true) {
    at = text.find_first_of("\"\\", at + 1);
    if (at == kNone || text[at] == '"') break;
    ++at;  // the character that the backslash protects
  }
  return at == kNone ? kNone : at + 1;
}

// Returns the end of the array or object that begins at `at`, or kNone.
size_t EndOfBrackets(std::string_view text, size_t at) {
  size_t depth = 0;
  while (true) {
    at = text.find_first_of("\"[]{}", at);
    if (at == kNone) return kNone;
    if (text[at] == '"') {
      at = EndOfString(text, at);
      if (at == kNone) return kNone;
      continue;
    }
    const bool opens = text[at] == '[' || text[at] == '{';
    depth += opens ? 1 : -1;
    ++at;
    if (depth == 0) return at;
  }
}

// Returns the end of the value that begins at `at`, or kNone if there is none.
size_t EndOfValue(std::string_view text, size_t at) {
  if (at == text.size()) return kNone;
  if (text[at] == '"') return EndOfString(text, at);
  if (text[at] == '[' || text[at] == '{') return EndOfBrackets(text, at);
  const size_t end =
      std::min(text.find_first_of(",:[]{}\" \t\r\n", at), text.size());
  return end == at ? kNone : end;
}

}  // namespace

ListText::Next ListText::Take(std::string_view* item) {
  while (place_ != Place::kEnd) {
    if (place_ == Place::kStart) {
      if (!TakeCharacter('{')) return Next::kMalformed;
      place_ = Place::kMembers;
    } else if (place_ == Place::kMembers) {
      if (!TakeMember()) return Next::kMalformed;
    } else if (TakeCharacter(']')) {
      place_ = Place::kMembers;
      is_first_ = false;
    } else {
      return TakeItem(item) ? Next::kItem : Next::kMalformed;
    }
  }
  return IsAtEnd() ? Next::kEnd : Next::kMalformed;
}

bool ListText::TakeMember() {
  if (TakeCharacter('}')) {
    place_ = Place::kEnd;
    return true;
  }
  std::string_view key;
  std::string_view value;
  if (!TakeSeparator() || !TakeValue(&key) || !TakeCharacter(':')) return false;
  if (key == "\"items\"" && TakeCharacter('[')) {
    place_ = Place::kItems;
    is_first_ = true;
    return true;
  }
  if (!TakeValue(&value)) return false;
  if (key == "\"metadata\"") {
    metadata_begin_ = value.data() - text_.data();
    metadata_size_ = value.size();
  }
  return true;
}

bool ListText::TakeItem(std::string_view* item) {
  return TakeSeparator() && TakeValue(item);
}

bool ListText::TakeSeparator() {
  return std::exchange(is_first_, false) || TakeCharacter(',');
}

bool ListText::TakeValue(std::string_view* value) {
  const std::string_view text = text_;
  const size_t begin =
      std::min(text.find_first_not_of(kSpace, at_), text.size());
  const size_t end = EndOfValue(text, begin);
  if (end == kNone) return false;
  *value = text.substr(begin, end - begin);
  at_ = end;
  return true;
}

bool ListText::TakeCharacter(char c) {
  const size_t at = text_.find_first_not_of(kSpace, at_);
  if (at == kNone || text_[at] != c) return false;
  at_ = at + 1;
  return true;
}

bool ListText::IsAtEnd() {
  return text_.find_first_not_of(kSpace, at_) == kNone;
}

}  // namespace canopy::kubernetes
