// The visitors of common/describe.h that measure and write a message.
#ifndef CANOPY_COMMON_DESCRIBE_WRITER_H_
#define CANOPY_COMMON_DESCRIBE_WRITER_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/bytes.h"
#include "common/wire_input.h"

namespace canopy::wire {

// The methods of visitors:
//   Field(number, value)           any field
//   Always(number, value)          a number that is also written if it is 0, so
//                                  that the message is never empty
//   Bounded(number, text, limit)   a text of at most `limit` bytes
//   Bounded(number, list, limit)   a list of at most `limit` elements
//   Choice(number, value, last)    an enum whose largest value is `last`
//
// Used by Describe functions that accept const and mutable structs.
template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <typename T>
concept Number = std::integral<T> || std::is_enum_v<T>;

// Types that are encoded as one chunk of bytes.
template <typename T>
concept Text = std::same_as<T, std::string> ||
    std::same_as<T, std::string_view> || std::same_as<T, Bytes>;

template <typename T>
concept Message = std::is_class_v<T> && !Text<T>;

inline std::string_view ChunkOf(std::string_view text) { return text; }
inline std::string_view ChunkOf(const Bytes &data) { return data.view(); }

// Returns the varint of a number.
template <Number N>
constexpr uint64_t ToWire(N value) {
  if constexpr (std::signed_integral<N>) {
    return ZigZag(value);
  } else {
    return static_cast<uint64_t>(value);
  }
}

template <typename M>
size_t SizeOf(const M &message);

// The fields that a message has on the wire: the fields with a value other than
// the default. `Self` handles each by a method Present(number, value).
template <typename Self>
class PresentFields {
 public:
  template <Number N>
  void Field(uint32_t field, const N &value) {
    if (value != N()) self().Present(field, value);
  }
  template <Text T>
  void Field(uint32_t field, const T &value) {
    if (!value.empty()) self().Present(field, value);
  }
  template <Message M>
  void Field(uint32_t field, const M &value) {
    self().Present(field, value);
  }
  template <Number N>
  void Field(uint32_t field, const std::vector<N> &values) {
    if (!values.empty()) self().Present(field, values);
  }
  template <typename T>
  requires(!Number<T>) void Field(uint32_t field,
                                  const std::vector<T> &values) {
    for (const T &value : values) self().Present(field, value);
  }
  template <typename T>
  void Field(uint32_t field, const std::optional<T> &value) {
    if (value.has_value()) self().Present(field, *value);
  }
  template <Number N>
  void Always(uint32_t field, const N &value) {
    self().Present(field, value);
  }
  template <typename T>
  void Bounded(uint32_t field, const T &value, size_t) {
    Field(field, value);
  }
  template <Number E>
  void Choice(uint32_t field, const E &value, E) {
    Field(field, value);
  }

 private:
  Self &self() { return static_cast<Self &>(*this); }
};

// Measures fields.
class Sizer : public PresentFields<Sizer> {
 public:
  size_t size() const { return size_; }

  template <Number N>
  static size_t PackedSize(const std::vector<N> &values) {
    size_t n = 0;
    for (const N value : values) n += VarintSize(ToWire(value));
    return n;
  }

 private:
  friend class PresentFields<Sizer>;

  static size_t TagSize(uint32_t field) { return VarintSize(Tag(field, 0)); }
  void AddChunk(uint32_t field, size_t n) {
    size_ += TagSize(field) + VarintSize(n) + n;
  }
  template <Number N>
  void Present(uint32_t field, const N &value) {
    size_ += TagSize(field) + VarintSize(ToWire(value));
  }
  template <Text T>
  void Present(uint32_t field, const T &value) {
    AddChunk(field, value.size());
  }
  template <Message M>
  void Present(uint32_t field, const M &value) {
    AddChunk(field, SizeOf(value));
  }
  template <Number N>
  void Present(uint32_t field, const std::vector<N> &values) {
    AddChunk(field, PackedSize(values));
  }

  size_t size_ = 0;
};

template <typename M>
size_t SizeOf(const M &message) {
  Sizer sizer;
  Describe(sizer, message);
  return sizer.size();
}

// Writes into memory of the size that a Sizer has measured.
class Writer : public PresentFields<Writer> {
 public:
  explicit Writer(char *out) : out_(out) {}
  // Returns the position after the last byte written.
  char *end() const { return out_; }

  // The tag and the length that precede a field of n bytes: HeadSize returns
  // the number of their bytes, and Head writes them.
  static size_t HeadSize(uint32_t field, size_t n) {
    return VarintSize(Tag(field, kLength)) + VarintSize(n);
  }
  void Head(uint32_t field, size_t n) {
    Varint(Tag(field, kLength));
    Length(n);
  }
  // Writes a length alone, as Input::Chunk reads it.
  void Length(size_t n) { Varint(n); }

 private:
  friend class PresentFields<Writer>;

  void Varint(uint64_t v) { out_ = PutVarint(v, out_); }
  template <Number N>
  void Present(uint32_t field, const N &value) {
    Varint(Tag(field, kVarint));
    Varint(ToWire(value));
  }
  template <Text T>
  void Present(uint32_t field, const T &value) {
    const std::string_view chunk = ChunkOf(value);
    Head(field, chunk.size());
    if (!chunk.empty()) std::memcpy(out_, chunk.data(), chunk.size());
    out_ += chunk.size();
  }
  template <Message M>
  void Present(uint32_t field, const M &value) {
    Head(field, SizeOf(value));
    Describe(*this, value);
  }
  template <Number N>
  void Present(uint32_t field, const std::vector<N> &values) {
    Head(field, Sizer::PackedSize(values));
    for (const N value : values) Varint(ToWire(value));
  }

  char *out_;
};

}  // namespace canopy::wire

#endif  // CANOPY_COMMON_DESCRIBE_WRITER_H_
