// The codec of Canopy's own structs. A struct's fields are listed once, with
// their numbers, in a function Describe(visitor, struct); visitors measure,
// write and read them. The bytes are in the protobuf wire format: a reader
// skips the fields that it does not know, and a field that is absent has the
// value 0, so a struct can get fields without a new format. Field numbers are
// never reused.
//
// A field is a number, an enum, text (std::string, or std::string_view, which
// points into the bytes that were read), data (Bytes, a slice of these bytes
// where they are shared, and otherwise a copy), another described struct, a
// std::vector of these, or a std::optional.
//
// Readers accept bytes from anywhere: every length is bounded by the bytes that
// are there, and the number of elements by kMaxElements.
#ifndef CANOPY_COMMON_DESCRIBE_H_
#define CANOPY_COMMON_DESCRIBE_H_

#include <string>
#include <string_view>
#include <type_traits>

#include "common/bytes.h"
#include "common/describe_reader.h"
#include "common/describe_writer.h"

namespace canopy::wire {

// Appends the encoded message to *out, with at most one allocation.
template <typename M>
void Append(const M& message, std::string* out) {
  const size_t at = out->size();
  out->resize(at + SizeOf(message));
  Writer writer(out->data() + at);
  Describe(writer, message);
}

// Returns the encoded message, made with one allocation.
template <typename M>
std::string Encode(const M& message) {
  std::string out;
  Append(message, &out);
  return out;
}

// Makes *message empty. A struct with references has no default constructor and
// is not changed: its texts and lists are empty already.
template <typename M>
void Reset(M* message) {
  if constexpr (std::is_default_constructible_v<M>) *message = M();
}

// Replaces *message by the encoded one. Returns false unless `data` is well
// formed and within the limits.
template <typename M>
bool Decode(std::string_view data, M* message) {
  Reset(message);
  ReadContext context;
  return ReadMessage(&context, data, message);
}
// Like Decode, for a message with data fields, which share the bytes of `data`.
template <typename M>
bool Decode(const Bytes& data, M* message) {
  Reset(message);
  ReadContext context{&data, 0};
  return ReadMessage(&context, data.view(), message);
}

}  // namespace canopy::wire

#endif  // CANOPY_COMMON_DESCRIBE_H_
