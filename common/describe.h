// The codec of Canopy's own structs. A struct's fields are listed once, with
// their numbers, in a function Describe(visitor, struct); visitors measure,
// write and read them. The bytes are in the protobuf wire format: a reader
// skips the fields that it does not know, and a field that is absent has the
// value 0, so a struct can get fields without a new format. Field numbers are
// never reused. Data fields (Bytes) are read as slices of the received buffer.
//
// Readers accept bytes from anywhere: every length is bounded by the bytes that
// are there, and the number of elements by kMaxElements.
#ifndef CANOPY_COMMON_DESCRIBE_H_
#define CANOPY_COMMON_DESCRIBE_H_

#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/bytes.h"
#include "common/slice.h"

namespace canopy::wire {

// The methods of visitors:
//   Field(number, value)           any field
//   Bounded(number, text, limit)   a text; longer ones are malformed
//   Choice(number, value, last)    an enum whose largest value is `last`
//
// For Describe functions that accept const and mutable structs.
template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <typename T>
concept Enum = std::is_enum_v<T>;

inline constexpr uint32_t kVarint = 0;
inline constexpr uint32_t kFixed64 = 1;
inline constexpr uint32_t kLength = 2;
inline constexpr uint32_t kFixed32 = 5;

// Limit for the elements of all repeated fields of one message: an element can
// take twenty times its encoded size in memory.
inline constexpr size_t kMaxElements = size_t{1} << 22;

inline size_t VarintSize(uint64_t v) {
  size_t n = 1;
  while (v >= 0x80) {
    v >>= 7;
    ++n;
  }
  return n;
}

inline uint64_t Tag(uint32_t field, uint32_t type) {
  return (uint64_t{field} << 3) | type;
}
inline uint32_t ZigZag(int32_t v) {
  return (static_cast<uint32_t>(v) << 1) ^ static_cast<uint32_t>(v >> 31);
}
inline int32_t UnZigZag(uint32_t v) {
  return static_cast<int32_t>((v >> 1) ^ (~(v & 1) + 1));
}
inline uint64_t ZigZag64(int64_t v) {
  return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
}
inline int64_t UnZigZag64(uint64_t v) {
  return static_cast<int64_t>((v >> 1) ^ (~(v & 1) + 1));
}

// Reads encoded fields. After a failure all further results are 0.
class Input {
 public:
  explicit Input(std::string_view data) : data_(data) {}
  bool ok() const { return ok_; }
  bool done() const { return pos_ == data_.size() || !ok_; }
  void Fail() { ok_ = false; }
  size_t position() const { return pos_; }
  uint64_t Varint() {
    // Most varints have one byte.
    if (ok_ && pos_ < data_.size() && (data_[pos_] & 0x80) == 0) {
      return static_cast<uint8_t>(data_[pos_++]);
    }
    return LongVarint();
  }
  uint32_t Tag() {  // field number (never 0) and wire type
    const uint64_t tag = Varint();
    if (tag > UINT32_MAX || (tag >> 3) == 0) ok_ = false;
    return ok_ ? static_cast<uint32_t>(tag) : 0;
  }
  std::string_view Chunk();  // length, then that many bytes
  void Skip(uint32_t type);

 private:
  uint64_t LongVarint();

  std::string_view data_;
  size_t pos_ = 0;
  bool ok_ = true;
};

// ------------------------------------------------------------- measuring ---

template <typename M>
size_t SizeOf(const M& message);

class Sizer {
 public:
  size_t size() const { return size_; }

  template <std::unsigned_integral U>
  void Field(uint32_t field, const U& value) {
    if (value != 0) size_ += TagSize(field) + VarintSize(value);
  }
  template <Enum E>
  void Field(uint32_t field, const E& value) {
    Field(field, static_cast<uint64_t>(value));
  }
  void Field(uint32_t field, const int& value) { Field(field, ZigZag(value)); }
  void Field(uint32_t field, const int64_t& value) {
    Field(field, ZigZag64(value));
  }
  void Field(uint32_t field, const std::string& value) {
    if (!value.empty()) AddChunk(field, value.size());
  }
  void Field(uint32_t field, const std::vector<std::string>& values) {
    for (const std::string& value : values) AddChunk(field, value.size());
  }
  void Field(uint32_t field, const Bytes& value) {
    if (!value.empty()) AddChunk(field, value.size());
  }
  void Field(uint32_t field, const std::vector<uint32_t>& values) {
    if (!values.empty()) AddChunk(field, PackedSize(values));
  }
  void Field(uint32_t field,
             const std::optional<std::vector<uint32_t>>& values) {
    if (values.has_value()) AddChunk(field, PackedSize(*values));
  }
  template <typename M>
  void Field(uint32_t field, const std::vector<M>& values) {
    for (const M& m : values) AddChunk(field, SizeOf(m));
  }
  template <typename M>
  requires std::is_class_v<M>
  void Field(uint32_t field, const M& value) { AddChunk(field, SizeOf(value)); }
  template <typename M>
  void Field(uint32_t field, const std::optional<M>& value) {
    if (value.has_value()) Field(field, *value);
  }
  void Field(uint32_t field, const std::optional<uint64_t>& value) {
    if (value.has_value()) size_ += TagSize(field) + VarintSize(*value);
  }
  void Bounded(uint32_t field, const std::string& value, size_t) {
    Field(field, value);
  }
  template <Enum E>
  void Choice(uint32_t field, const E& value, E) {
    Field(field, value);
  }

  static size_t PackedSize(const std::vector<uint32_t>& values) {
    size_t n = 0;
    for (const uint32_t v : values) n += VarintSize(v);
    return n;
  }

 private:
  static size_t TagSize(uint32_t field) { return VarintSize(Tag(field, 0)); }
  void AddChunk(uint32_t field, size_t n) {
    size_ += TagSize(field) + VarintSize(n) + n;
  }

  size_t size_ = 0;
};

template <typename M>
size_t SizeOf(const M& message) {
  Sizer sizer;
  Describe(sizer, message);
  return sizer.size();
}

// --------------------------------------------------------------- writing ---

// Writes into memory of the size that a Sizer has measured.
class Writer {
 public:
  explicit Writer(char* out) : out_(out) {}
  // The position after what was written.
  char* end() const { return out_; }

  template <std::unsigned_integral U>
  void Field(uint32_t field, const U& value) {
    if (value == 0) return;
    Varint(Tag(field, kVarint));
    Varint(value);
  }
  template <Enum E>
  void Field(uint32_t field, const E& value) {
    Field(field, static_cast<uint64_t>(value));
  }
  void Field(uint32_t field, const int& value) { Field(field, ZigZag(value)); }
  void Field(uint32_t field, const int64_t& value) {
    Field(field, ZigZag64(value));
  }
  void Field(uint32_t field, const std::string& value) {
    if (!value.empty()) Chunk(field, value);
  }
  void Field(uint32_t field, const std::vector<std::string>& values) {
    for (const std::string& value : values) Chunk(field, value);
  }
  void Field(uint32_t field, const Bytes& value) {
    if (!value.empty()) Chunk(field, value.view());
  }
  void Field(uint32_t field, const std::vector<uint32_t>& values) {
    if (!values.empty()) Packed(field, values);
  }
  void Field(uint32_t field,
             const std::optional<std::vector<uint32_t>>& values) {
    if (values.has_value()) Packed(field, *values);
  }
  template <typename M>
  void Field(uint32_t field, const std::vector<M>& values) {
    for (const M& m : values) Nested(field, m);
  }
  template <typename M>
  requires std::is_class_v<M>
  void Field(uint32_t field, const M& value) { Nested(field, value); }
  template <typename M>
  void Field(uint32_t field, const std::optional<M>& value) {
    if (value.has_value()) Field(field, *value);
  }
  void Field(uint32_t field, const std::optional<uint64_t>& value) {
    if (!value.has_value()) return;
    Varint(Tag(field, kVarint));
    Varint(*value);
  }
  void Bounded(uint32_t field, const std::string& value, size_t) {
    Field(field, value);
  }
  template <Enum E>
  void Choice(uint32_t field, const E& value, E) {
    Field(field, value);
  }

  // Tag and length of a field of n bytes, which follow.
  static size_t HeadSize(uint32_t field, size_t n) {
    return VarintSize(wire::Tag(field, kLength)) + VarintSize(n);
  }
  void Head(uint32_t field, size_t n) {
    Varint(Tag(field, kLength));
    Length(n);
  }
  // A length alone, as Input::Chunk reads it.
  void Length(size_t n) { Varint(n); }

 private:
  void Varint(uint64_t v) {
    for (; v >= 0x80; v >>= 7) *out_++ = static_cast<char>(v | 0x80);
    *out_++ = static_cast<char>(v);
  }
  void Packed(uint32_t field, const std::vector<uint32_t>& values) {
    Head(field, Sizer::PackedSize(values));
    for (const uint32_t v : values) Varint(v);
  }
  void Chunk(uint32_t field, std::string_view value) {
    Head(field, value.size());
    std::memcpy(out_, value.data(), value.size());
    out_ += value.size();
  }
  template <typename M>
  void Nested(uint32_t field, const M& value) {
    Head(field, SizeOf(value));
    Describe(*this, value);
  }

  char* out_;
};

// --------------------------------------------------------------- reading ---

// Sets fields to the values that absent fields have on the wire; the C++
// defaults (kNoNode, kRankUndef) may differ.
class Zeroer {
 public:
  template <std::integral I>
  void Field(uint32_t, I& value) {
    value = 0;
  }
  template <Enum E>
  void Field(uint32_t, E& value) {
    value = static_cast<E>(0);
  }
  template <typename M>
  requires std::is_class_v<M>
  void Field(uint32_t, M&) {}
  void Bounded(uint32_t, std::string&, size_t) {}
  template <Enum E>
  void Choice(uint32_t, E& value, E) {
    value = static_cast<E>(0);
  }
};

// The buffer that data fields share, and the number of elements read.
struct ReadContext {
  const Bytes* bytes = nullptr;
  size_t elements = 0;

  Bytes Share(std::string_view part) const { return SliceOf(*bytes, part); }
};

template <typename M>
bool ReadMessage(ReadContext* context, std::string_view data, M* message);

// Reads the field whose tag was just read.
class FieldReader {
 public:
  FieldReader(ReadContext* context, Input* in, uint32_t tag)
      : context_(context), in_(in), tag_(tag) {}
  // False if no field has this number; the caller then skips the value.
  bool taken() const { return taken_; }

  template <std::unsigned_integral U>
  void Field(uint32_t field, U& value) {
    if (Mine(field, kVarint)) value = Narrow<U>(in_->Varint());
  }
  template <Enum E>
  void Field(uint32_t field, E& value) {
    if (!Mine(field, kVarint)) return;
    value = static_cast<E>(Narrow<std::underlying_type_t<E>>(in_->Varint()));
  }
  void Field(uint32_t field, int& value) {
    if (Mine(field, kVarint)) value = UnZigZag(Narrow<uint32_t>(in_->Varint()));
  }
  void Field(uint32_t field, int64_t& value) {
    if (Mine(field, kVarint)) value = UnZigZag64(in_->Varint());
  }
  void Field(uint32_t field, std::string& value) {
    if (Mine(field, kLength)) value = in_->Chunk();
  }
  void Field(uint32_t field, std::vector<std::string>& values) {
    if (Mine(field, kLength) && Count()) values.emplace_back(in_->Chunk());
  }
  void Field(uint32_t field, Bytes& value) {
    if (Mine(field, kLength)) value = context_->Share(in_->Chunk());
  }
  void Field(uint32_t field, std::vector<uint32_t>& values) {
    if (taken_ || (tag_ >> 3) != field) return;
    if ((tag_ & 7) == kVarint) {
      taken_ = true;
      if (Count()) values.push_back(Narrow<uint32_t>(in_->Varint()));
    } else if (Mine(field, kLength)) {
      Packed(in_->Chunk(), &values);
    }
  }
  void Field(uint32_t field, std::optional<std::vector<uint32_t>>& values) {
    if (Mine(field, kLength)) Packed(in_->Chunk(), &values.emplace());
  }
  template <typename M>
  void Field(uint32_t field, std::vector<M>& values) {
    if (!Mine(field, kLength) || !Count()) return;
    Nested(&values.emplace_back());
  }
  template <typename M>
  requires std::is_class_v<M>
  void Field(uint32_t field, M& value) {
    if (Mine(field, kLength)) Nested(&value);
  }
  template <typename M>
  void Field(uint32_t field, std::optional<M>& value) {
    if (Mine(field, kLength)) Nested(&value.emplace());
  }
  void Field(uint32_t field, std::optional<uint64_t>& value) {
    if (Mine(field, kVarint)) value = in_->Varint();
  }
  void Bounded(uint32_t field, std::string& value, size_t limit) {
    if (!Mine(field, kLength)) return;
    value = in_->Chunk();
    if (value.size() > limit) in_->Fail();
  }
  template <Enum E>
  void Choice(uint32_t field, E& value, E last) {
    Field(field, value);
    if (value > last) in_->Fail();
  }

 private:
  bool Mine(uint32_t field, uint32_t type) {
    if (taken_ || (tag_ >> 3) != field) return false;
    taken_ = true;
    if ((tag_ & 7) == type) return true;
    in_->Fail();
    return false;
  }
  bool Count() {
    if (++context_->elements <= kMaxElements) return true;
    in_->Fail();
    return false;
  }
  template <typename U>
  U Narrow(uint64_t value) {
    if (value > std::numeric_limits<U>::max()) {
      in_->Fail();
      return 0;
    }
    return static_cast<U>(value);
  }
  void Packed(std::string_view data, std::vector<uint32_t>* values) {
    Input packed(data);
    while (!packed.done() && Count()) {
      values->push_back(Narrow<uint32_t>(packed.Varint()));
    }
    if (!packed.ok()) in_->Fail();
  }
  template <typename M>
  void Nested(M* value) {
    if (!ReadMessage(context_, in_->Chunk(), value)) in_->Fail();
  }

  ReadContext* context_;
  Input* in_;
  uint32_t tag_;
  bool taken_ = false;
};

// Returns false unless `data` is a well-formed message of this type within the
// limits. Unknown fields are skipped.
template <typename M>
bool ReadMessage(ReadContext* context, std::string_view data, M* message) {
  Zeroer zeroer;
  Describe(zeroer, *message);
  Input in(data);
  while (!in.done()) {
    const uint32_t tag = in.Tag();
    FieldReader reader(context, &in, tag);
    Describe(reader, *message);
    if (!reader.taken()) in.Skip(tag & 7);
  }
  return in.ok();
}

// ------------------------------------------------------- whole messages ---

// Returns the encoded message, made with one allocation.
template <typename M>
std::string Encode(const M& message) {
  std::string out(SizeOf(message), '\0');
  Writer writer(out.data());
  Describe(writer, message);
  return out;
}

// Reads a message into *message, which has its default values. Returns false
// unless `data` is well formed and within the limits.
template <typename M>
bool Decode(std::string_view data, M* message) {
  ReadContext context;
  return ReadMessage(&context, data, message);
}
// The same for a message with data fields, which share the bytes of `data`.
template <typename M>
bool Decode(const Bytes& data, M* message) {
  ReadContext context{&data, 0};
  return ReadMessage(&context, data.view(), message);
}

}  // namespace canopy::wire

#endif  // CANOPY_COMMON_DESCRIBE_H_
