// Reference-counted immutable bytes. Committed data and messages pass through
// an agent in this form without being copied or parsed again.
#ifndef CANOPY_COMMON_BYTES_H_
#define CANOPY_COMMON_BYTES_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace canopy {

// A view of bytes that keeps its owner alive. Cheap to copy; safe to share
// between threads because the bytes never change.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::string s)
      : owner_(std::make_shared<const std::string>(std::move(s))),
        view_(*static_cast<const std::string*>(owner_.get())) {}
  // Makes a view that keeps `owner` alive.
  Bytes(std::shared_ptr<const void> owner, std::string_view view)
      : owner_(std::move(owner)), view_(view) {}

  std::string_view view() const { return view_; }
  size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  // Returns a part of these bytes, clipped to their end, with the same owner.
  Bytes Slice(size_t offset, size_t length) const {
    if (offset > view_.size()) offset = view_.size();
    return Bytes(owner_, view_.substr(offset, length));
  }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view view_;
};

// Pieces in order; their concatenation is the content.
using Rope = std::vector<Bytes>;

}  // namespace canopy

#endif  // CANOPY_COMMON_BYTES_H_
