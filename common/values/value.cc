#include "common/values/value.h"

#include <cstring>
#include <limits>

#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/memory.h"
#include "common/values/value_ops.h"

namespace canopy {
namespace {

template <typename T>
T ReadAs(const void* element) {
  T value;
  memcpy(&value, element, sizeof(value));
  return value;
}

// An integer of any width, with its sign kept apart from its 64 bits.
struct Wide {
  bool negative;
  uint64_t bits;
};

template <typename T>
Wide Widen(const void* element) {
  const T value = ReadAs<T>(element);
  if constexpr (std::numeric_limits<T>::is_signed) {
    return {value < 0, static_cast<uint64_t>(static_cast<int64_t>(value))};
  } else {
    return {false, value};
  }
}

// Returns the field of a type that is one plain number, or null.
const Field* NumberField(pmix_data_type_t id) {
  const TypeInfo* type = FindType(id);
  if (type == nullptr || type->indirect || type->num_fields != 1 ||
      id == PMIX_BOOL) {
    return nullptr;
  }
  return type->fields;
}

std::optional<Wide> WideOf(const pmix_value_t& v) {
  const Field* field = NumberField(v.type);
  if (field == nullptr) return std::nullopt;
  switch (field->shape) {
    case Shape::kByte:
      return Widen<uint8_t>(&v.data);
    case Shape::kInt8:
      return Widen<int8_t>(&v.data);
    case Shape::kInt16:
      return Widen<int16_t>(&v.data);
    case Shape::kUint16:
      return Widen<uint16_t>(&v.data);
    case Shape::kInt32:
    case Shape::kInt:
    case Shape::kPid:
      return Widen<int32_t>(&v.data);
    case Shape::kUint32:
    case Shape::kUint:
      return Widen<uint32_t>(&v.data);
    case Shape::kInt64:
    case Shape::kTime:
      return Widen<int64_t>(&v.data);
    case Shape::kUint64:
    case Shape::kSize:
      return Widen<uint64_t>(&v.data);
    default:
      return std::nullopt;
  }
}

template <typename T>
Value Load(pmix_data_type_t type, const T& element) {
  Value value;
  if (LoadValue(value.mutable_raw(), &element, type) != kSuccess) return {};
  return value;
}

// Makes *value hold an array of `count` empty elements and returns the array.
template <typename T>
T* NewArray(Value* value, pmix_data_type_t id, size_t count) {
  pmix_value_t* raw = value->mutable_raw();
  void* element =
      EmplaceValue(raw, PMIX_DATA_ARRAY, *FindType(PMIX_DATA_ARRAY));
  if (element == nullptr) return nullptr;
  auto* array = static_cast<pmix_data_array_t*>(element);
  if (ConstructDataArray(array, count, id) != kSuccess) {
    *value = Value();
    return nullptr;
  }
  return static_cast<T*>(array->array);
}

const pmix_data_array_t* ArrayOf(const pmix_value_t& v) {
  return v.type == PMIX_DATA_ARRAY ? v.data.darray : nullptr;
}

template <typename T>
std::optional<std::span<const T>> ElementsOf(const pmix_value_t& v,
                                             pmix_data_type_t type) {
  const pmix_data_array_t* array = ArrayOf(v);
  if (array == nullptr || array->type != type) return std::nullopt;
  return std::span<const T>(static_cast<const T*>(array->array),
                            array->array == nullptr ? 0 : array->size);
}

}  // namespace

Value::Value(const Value& other) { (void)CopyValue(&raw_, other.raw_); }

Value& Value::operator=(const Value& other) {
  if (this != &other) *this = Value(other);
  return *this;
}

Value& Value::operator=(Value&& other) noexcept {
  if (this != &other) {
    DestructValue(&raw_);
    raw_ = std::exchange(other.raw_, {});
  }
  return *this;
}

Value::~Value() { DestructValue(&raw_); }

Value Value::Bool(bool v) { return Load(PMIX_BOOL, v); }
Value Value::Int(int v) { return Load(PMIX_INT, v); }
Value Value::Int32(int32_t v) { return Load(PMIX_INT32, v); }
Value Value::Int64(int64_t v) { return Load(PMIX_INT64, v); }
Value Value::Uint(unsigned v) { return Load(PMIX_UINT, v); }
Value Value::Uint8(uint8_t v) { return Load(PMIX_UINT8, v); }
Value Value::Uint16(uint16_t v) { return Load(PMIX_UINT16, v); }
Value Value::Uint32(uint32_t v) { return Load(PMIX_UINT32, v); }
Value Value::Uint64(uint64_t v) { return Load(PMIX_UINT64, v); }
Value Value::Size(size_t v) { return Load(PMIX_SIZE, v); }
Value Value::Pid(pid_t v) { return Load(PMIX_PID, v); }
Value Value::Float(float v) { return Load(PMIX_FLOAT, v); }
Value Value::Double(double v) { return Load(PMIX_DOUBLE, v); }
Value Value::Time(time_t v) { return Load(PMIX_TIME, v); }
Value Value::Status(pmix_status_t v) { return Load(PMIX_STATUS, v); }
Value Value::Rank(canopy::Rank v) { return Load(PMIX_PROC_RANK, v); }
Value Value::Proc(const ProcId& v) { return Load(PMIX_PROC, ToC(v)); }

Value Value::String(std::string_view v) {
  Value value;
  value.raw_.data.string = DuplicateString(v);
  if (value.raw_.data.string != nullptr) value.raw_.type = PMIX_STRING;
  return value;
}

Value Value::ByteObject(std::string_view v) {
  // The copy needs no terminator: the size gives its end.
  pmix_byte_object_t bytes = {const_cast<char*>(v.data()), v.size()};
  return Load(PMIX_BYTE_OBJECT, bytes);
}

Value Value::Nspace(std::string_view v) {
  pmix_nspace_t nspace;
  StoreName(nspace, sizeof(nspace), v);
  return Load(PMIX_PROC_NSPACE, nspace);
}

Value Value::InfoArray(const InfoList& v) {
  Value value;
  auto* infos = NewArray<pmix_info_t>(&value, PMIX_INFO, v.size());
  for (size_t i = 0; infos != nullptr && i < v.size(); ++i) {
    if (CopyInfo(&infos[i], v.data()[i]) != kSuccess) return {};
  }
  return value;
}

Value Value::ProcArray(std::span<const ProcId> v) {
  Value value;
  auto* procs = NewArray<pmix_proc_t>(&value, PMIX_PROC, v.size());
  for (size_t i = 0; procs != nullptr && i < v.size(); ++i) {
    procs[i] = ToC(v[i]);
  }
  return value;
}

Value Value::StringArray(std::span<const std::string> v) {
  Value value;
  auto* strings = NewArray<char*>(&value, PMIX_STRING, v.size());
  for (size_t i = 0; strings != nullptr && i < v.size(); ++i) {
    strings[i] = DuplicateString(v[i]);
    if (strings[i] == nullptr) return {};
  }
  return value;
}

Value Value::Integer(pmix_data_type_t type, uint64_t v) {
  const TypeInfo* info = FindType(type);
  pmix_value_t probe = {};
  probe.type = type;
  Value value;
  if (info == nullptr || (!WideOf(probe) && type != PMIX_BOOL)) return value;
  value.raw_.type = type;
  if (type == PMIX_BOOL) v = v != 0 ? 1 : 0;
  // On a little-endian machine the low bytes come first.
  memcpy(&value.raw_.data, &v, info->size);
  return value;
}

Value Value::FromC(const pmix_value_t& v) {
  Value value;
  (void)CopyValue(&value.raw_, v);
  return value;
}

Value Value::Adopt(pmix_value_t* v) {
  Value value;
  value.raw_ = std::exchange(*v, {});
  return value;
}

std::optional<std::string_view> Value::AsString() const {
  return StringOf(raw_);
}
std::optional<uint64_t> Value::AsUint64() const { return Uint64Of(raw_); }
std::optional<int64_t> Value::AsInt64() const { return Int64Of(raw_); }
std::optional<uint32_t> Value::AsUint32() const {
  const auto wide = Uint64Of(raw_);
  if (!wide || *wide > UINT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(*wide);
}
std::optional<bool> Value::AsBool() const { return BoolOf(raw_); }
std::optional<ProcId> Value::AsProc() const { return ProcOf(raw_); }
std::optional<std::string_view> Value::AsBytes() const { return BytesOf(raw_); }
std::optional<std::span<const pmix_info_t>> Value::AsInfos() const {
  return InfosOf(raw_);
}
std::optional<std::span<const pmix_proc_t>> Value::AsProcs() const {
  return ProcsOf(raw_);
}

bool Value::operator==(const Value& other) const {
  return CompareValues(raw_, other.raw_) == PMIX_EQUAL;
}

std::optional<std::string_view> StringOf(const pmix_value_t& v) {
  if (v.type == PMIX_STRING && v.data.string != nullptr) return v.data.string;
  if (v.type == PMIX_PROC_NSPACE && v.data.nspace != nullptr) {
    return LoadName(*v.data.nspace, sizeof(pmix_nspace_t));
  }
  return std::nullopt;
}

std::optional<uint64_t> Uint64Of(const pmix_value_t& v) {
  const auto wide = WideOf(v);
  if (!wide || wide->negative) return std::nullopt;
  return wide->bits;
}

std::optional<int64_t> Int64Of(const pmix_value_t& v) {
  const auto wide = WideOf(v);
  if (!wide || (!wide->negative && wide->bits > INT64_MAX)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(wide->bits);
}

std::optional<double> DoubleOf(const pmix_value_t& v) {
  if (v.type == PMIX_FLOAT) return v.data.fval;
  if (v.type == PMIX_DOUBLE) return v.data.dval;
  const auto wide = WideOf(v);
  if (!wide) return std::nullopt;
  return wide->negative ? static_cast<double>(static_cast<int64_t>(wide->bits))
                        : static_cast<double>(wide->bits);
}

std::optional<bool> BoolOf(const pmix_value_t& v) {
  const pmix_boolean_t truth = ValueTruth(v);
  if (truth == PMIX_NON_BOOL) return std::nullopt;
  return truth == PMIX_BOOL_TRUE;
}

std::optional<ProcId> ProcOf(const pmix_value_t& v) {
  if (v.type != PMIX_PROC || v.data.proc == nullptr) return std::nullopt;
  return FromC(*v.data.proc);
}

std::optional<std::string_view> BytesOf(const pmix_value_t& v) {
  if (v.type != PMIX_BYTE_OBJECT && v.type != PMIX_COMPRESSED_STRING &&
      v.type != PMIX_COMPRESSED_BYTE_OBJECT) {
    return std::nullopt;
  }
  if (v.data.bo.bytes == nullptr) return std::string_view();
  return std::string_view(v.data.bo.bytes, v.data.bo.size);
}

std::optional<std::span<const pmix_info_t>> InfosOf(const pmix_value_t& v) {
  return ElementsOf<pmix_info_t>(v, PMIX_INFO);
}

std::optional<std::span<const pmix_proc_t>> ProcsOf(const pmix_value_t& v) {
  return ElementsOf<pmix_proc_t>(v, PMIX_PROC);
}

ProcId FromC(const pmix_proc_t& proc) {
  return {std::string(LoadName(proc.nspace, sizeof(proc.nspace))), proc.rank};
}

pmix_proc_t ToC(const ProcId& proc) {
  pmix_proc_t raw;
  StoreName(raw.nspace, sizeof(raw.nspace), proc.nspace);
  raw.rank = proc.rank;
  return raw;
}

}  // namespace canopy
