// The objects of a list, one by one, from the list's text.
#ifndef CANOPY_SERVER_KUBERNETES_API_LIST_TEXT_H_
#define CANOPY_SERVER_KUBERNETES_API_LIST_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace canopy::kubernetes {

// A list has megabytes, which take too long to parse in one turn of a loop. So
// this class only finds where each object begins and ends. The objects
// themselves may be malformed.
class ListText {
 public:
  enum class Next { kItem, kEnd, kMalformed };

  // `text` is an object with the members "metadata" and "items".
  explicit ListText(std::string text) : text_(std::move(text)) {}

  // Takes the next element of "items". The view is valid as long as this
  // object. After kEnd and kMalformed, the object is not used any more.
  Next Take(std::string_view* item);
  // Returns the member "metadata", or an empty text. Complete after kEnd.
  std::string_view metadata() const {
    return std::string_view(text_).substr(metadata_begin_, metadata_size_);
  }

 private:
  enum class Place { kStart, kMembers, kItems, kEnd };

  // Each takes the next part of the text, and returns false if it is malformed.
  bool TakeMember();
  bool TakeItem(std::string_view* item);
  bool TakeSeparator();
  bool TakeValue(std::string_view* value);
  // Takes the character, if it is the next one apart from white space.
  bool TakeCharacter(char c);
  bool IsAtEnd();

  std::string text_;
  size_t at_ = 0;
  Place place_ = Place::kStart;
  bool is_first_ = true;  // of the members or items
  size_t metadata_begin_ = 0;
  size_t metadata_size_ = 0;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_LIST_TEXT_H_
