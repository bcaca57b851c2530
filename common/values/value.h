// A pmix_value_t that owns its content. All of Canopy's own code keeps and
// passes values in this form.
#ifndef CANOPY_COMMON_VALUES_VALUE_H_
#define CANOPY_COMMON_VALUES_VALUE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/ids.h"
#include "pmix_types.h"

namespace canopy {

class InfoList;

// Movable and copyable; copies are deep. If a value cannot be copied (see
// CopyElement) or memory is exhausted, the copy is the empty value. Not
// synchronised.
class Value {
 public:
  // The empty value, PMIX_UNDEF.
  Value() = default;
  Value(const Value& other);
  Value(Value&& other) noexcept : raw_(std::exchange(other.raw_, {})) {}
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  static Value Bool(bool v);
  static Value String(std::string_view v);
  static Value Int(int v);
  static Value Int32(int32_t v);
  static Value Int64(int64_t v);
  static Value Uint(unsigned v);
  static Value Uint8(uint8_t v);
  static Value Uint16(uint16_t v);
  static Value Uint32(uint32_t v);
  static Value Uint64(uint64_t v);
  static Value Size(size_t v);
  static Value Pid(pid_t v);
  static Value Float(float v);
  static Value Double(double v);
  static Value Time(time_t v);
  static Value Status(pmix_status_t v);
  static Value Rank(canopy::Rank v);
  static Value Proc(const ProcId& v);
  static Value ByteObject(std::string_view v);
  static Value Nspace(std::string_view v);
  // Return a data array that holds deep copies.
  static Value InfoArray(const InfoList& v);
  static Value ProcArray(std::span<const ProcId> v);
  static Value StringArray(std::span<const std::string> v);
  // Makes a value of an integer type or of a type that is stored as an integer,
  // such as a scope or a state. `v` is cut to the type's width. Returns the
  // empty value if `type` is not such a type.
  static Value Integer(pmix_data_type_t type, uint64_t v);

  // Makes a deep copy of a C value.
  static Value FromC(const pmix_value_t& v);
  // Moves the content of *v into the result and leaves *v empty.
  static Value Adopt(pmix_value_t* v);

  pmix_data_type_t type() const { return raw_.type; }
  bool empty() const { return raw_.type == PMIX_UNDEF; }
  const pmix_value_t& raw() const { return raw_; }
  // Lets a C interface fill the value, which then owns the content.
  pmix_value_t* mutable_raw() { return &raw_; }
  // Moves the content to the caller and leaves this value empty.
  pmix_value_t Release() { return std::exchange(raw_, {}); }

  // Each getter returns no value if this value is of another kind. A view is
  // valid as long as this value is unchanged.
  std::optional<std::string_view> AsString() const;
  // Read any integer type, including states, scopes, ranks and times, if the
  // number fits.
  std::optional<uint64_t> AsUint64() const;
  std::optional<int64_t> AsInt64() const;
  std::optional<uint32_t> AsUint32() const;
  // Reads a flag, or text that reads as a flag. The empty value reads as true.
  std::optional<bool> AsBool() const;
  std::optional<ProcId> AsProc() const;
  // Returns the content of a byte object, also of the compressed kinds.
  std::optional<std::string_view> AsBytes() const;
  // Return the elements of a data array of this kind.
  std::optional<std::span<const pmix_info_t>> AsInfos() const;
  std::optional<std::span<const pmix_proc_t>> AsProcs() const;

  bool operator==(const Value& other) const;

 private:
  pmix_value_t raw_ = {};
};

// Read a C value as the getters of Value do. The C value keeps the ownership of
// its content.
std::optional<std::string_view> StringOf(const pmix_value_t& v);
std::optional<uint64_t> Uint64Of(const pmix_value_t& v);
std::optional<int64_t> Int64Of(const pmix_value_t& v);
std::optional<double> DoubleOf(const pmix_value_t& v);
std::optional<bool> BoolOf(const pmix_value_t& v);
std::optional<ProcId> ProcOf(const pmix_value_t& v);
std::optional<std::string_view> BytesOf(const pmix_value_t& v);
std::optional<std::span<const pmix_info_t>> InfosOf(const pmix_value_t& v);
std::optional<std::span<const pmix_proc_t>> ProcsOf(const pmix_value_t& v);

// Convert between Canopy's identity of a process and the C interface's.
ProcId FromC(const pmix_proc_t& proc);
pmix_proc_t ToC(const ProcId& proc);

struct KeyValue {
  std::string key;
  Value value;

  bool operator==(const KeyValue&) const = default;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_VALUE_H_
