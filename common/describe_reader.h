// The visitors of common/describe.h that read a message.
#ifndef CANOPY_COMMON_DESCRIBE_READER_H_
#define CANOPY_COMMON_DESCRIBE_READER_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/bytes.h"
#include "common/describe_writer.h"
#include "common/slice.h"
#include "common/wire_input.h"

namespace canopy::wire {

// Limit for the elements of all repeated fields of one message. An element can
// take twenty times its encoded size in memory.
inline constexpr size_t kMaxElements = size_t{1} << 22;

// Sets numbers to the value that absent fields have on the wire; the C++
// defaults (kNoNode, kRankUndef) may differ.
class Zeroer {
 public:
  template <Number N>
  void Field(uint32_t, N& value) {
    value = N();
  }
  template <Number N>
  void Always(uint32_t, N& value) {
    value = N();
  }
  template <typename T>
  requires std::is_class_v<T>
  void Field(uint32_t, T&) {}
  template <typename T>
  void Bounded(uint32_t, T&, size_t) {}
  template <Number E>
  void Choice(uint32_t, E& value, E) {
    value = E();
  }
};

// The buffer that data fields share, and the number of elements read.
struct ReadContext {
  const Bytes* bytes = nullptr;  // null: data fields are copies
  size_t elements = 0;

  Bytes Share(std::string_view part) const {
    if (bytes != nullptr) return SliceOf(*bytes, part);
    return part.empty() ? Bytes() : Bytes(std::string(part));
  }
};

template <typename M>
bool ReadMessage(ReadContext* context, std::string_view data, M* message);

// Reads the field whose tag was just read.
class FieldReader {
 public:
  FieldReader(ReadContext* context, Input* in, uint32_t tag)
      : context_(context), in_(in), tag_(tag) {}
  // Returns false if no field has this number; the caller then skips the value.
  bool taken() const { return taken_; }

  template <Number N>
  void Field(uint32_t field, N& value) {
    if (Mine(field, kVarint)) value = FromWire<N>(in_->Varint());
  }
  template <Text T>
  void Field(uint32_t field, T& value) {
    if (Mine(field, kLength)) Read(in_->Chunk(), &value);
  }
  template <Message M>
  void Field(uint32_t field, M& value) {
    if (Mine(field, kLength)) Read(in_->Chunk(), &value);
  }
  template <Number N>
  void Field(uint32_t field, std::vector<N>& values) {
    if (!IsNext(field)) return;
    if ((tag_ & 7) == kVarint) {
      taken_ = true;
      if (Count()) values.push_back(FromWire<N>(in_->Varint()));
    } else if (Mine(field, kLength)) {
      Packed(in_->Chunk(), &values);
    }
  }
  template <typename T>
  requires(!Number<T>) void Field(uint32_t field, std::vector<T>& values) {
    if (!Mine(field, kLength) || !Count()) return;
    Read(in_->Chunk(), &values.emplace_back());
  }
  template <typename T>
  void Field(uint32_t field, std::optional<T>& value) {
    if (IsNext(field)) Field(field, value.emplace());
  }
  template <Number N>
  void Always(uint32_t field, N& value) {
    Field(field, value);
  }
  template <typename T>
  void Bounded(uint32_t field, T& value, size_t limit) {
    if (!IsNext(field)) return;
    Field(field, value);
    if (value.size() > limit) in_->Fail();
  }
  template <Number E>
  void Choice(uint32_t field, E& value, E last) {
    Field(field, value);
    if (value > last) in_->Fail();
  }

 private:
  bool IsNext(uint32_t field) const { return !taken_ && (tag_ >> 3) == field; }
  bool Mine(uint32_t field, uint32_t type) {
    if (!IsNext(field)) return false;
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
  template <typename I>
  I Narrow(uint64_t value) {
    if (value > static_cast<uint64_t>(std::numeric_limits<I>::max())) {
      in_->Fail();
      return 0;
    }
    return static_cast<I>(value);
  }
  template <Number N>
  N FromWire(uint64_t wire) {
    if constexpr (std::is_enum_v<N>) {
      return static_cast<N>(Narrow<std::underlying_type_t<N>>(wire));
    } else if constexpr (std::signed_integral<N>) {
      const int64_t value = UnZigZag(wire);
      if (static_cast<N>(value) != value) in_->Fail();
      return static_cast<N>(value);
    } else {
      return Narrow<N>(wire);
    }
  }
  void Read(std::string_view chunk, std::string* value) { *value = chunk; }
  void Read(std::string_view chunk, std::string_view* value) { *value = chunk; }
  void Read(std::string_view chunk, Bytes* value) {
    *value = context_->Share(chunk);
  }
  template <Message M>
  void Read(std::string_view chunk, M* value) {
    if (!ReadMessage(context_, chunk, value)) in_->Fail();
  }
  template <Number N>
  void Packed(std::string_view data, std::vector<N>* values) {
    Input packed(data);
    while (!packed.done() && Count()) {
      values->push_back(FromWire<N>(packed.Varint()));
    }
    if (!packed.ok()) in_->Fail();
  }

  ReadContext* context_;
  Input* in_;
  uint32_t tag_;
  bool taken_ = false;
};

// Reads the fields of *message, whose texts and lists must be empty, and skips
// unknown fields. Returns false unless `data` is a well-formed message of this
// type within the limits.
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

}  // namespace canopy::wire

#endif  // CANOPY_COMMON_DESCRIBE_READER_H_
