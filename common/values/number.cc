#include "common/values/number.h"

#include <cstring>
#include <limits>
#include <optional>

#include "common/values/type_table.h"
#include "common/values/value.h"

namespace canopy {
namespace {

bool IsReal(const pmix_value_t& value) {
  return value.type == PMIX_FLOAT || value.type == PMIX_DOUBLE;
}

// Turns a whole real number into an integer value, so that one set of checks
// serves both.
int FromReal(const pmix_value_t& value, pmix_value_t* whole) {
  const double real = *DoubleOf(value);
  *whole = {};
  if (real >= -0x1p63 && real < 0) {
    whole->type = PMIX_INT64;
    whole->data.int64 = static_cast<int64_t>(real);
  } else if (real >= 0 && real < 0x1p64) {
    whole->type = PMIX_UINT64;
    whole->data.uint64 = static_cast<uint64_t>(real);
  } else {
    return PMIX_ERR_LOST_PRECISION;
  }
  return DoubleOf(*whole) == real ? PMIX_SUCCESS : PMIX_ERR_LOST_PRECISION;
}

template <typename T>
int StoreInteger(const pmix_value_t& value, void* dest) {
  using Limits = std::numeric_limits<T>;
  T result;
  if (const auto wide = Uint64Of(value)) {
    if (*wide > static_cast<uint64_t>(Limits::max())) {
      return PMIX_ERR_LOST_PRECISION;
    }
    result = static_cast<T>(*wide);
  } else if (const auto negative = Int64Of(value)) {
    if (!Limits::is_signed) return PMIX_ERR_CHANGE_SIGN;
    if (*negative < static_cast<int64_t>(Limits::min())) {
      return PMIX_ERR_LOST_PRECISION;
    }
    result = static_cast<T>(*negative);
  } else {
    return PMIX_ERR_BAD_PARAM;
  }
  memcpy(dest, &result, sizeof(result));
  return PMIX_SUCCESS;
}

template <typename T>
int StoreWhole(const pmix_value_t& value, void* dest) {
  if (!IsReal(value)) return StoreInteger<T>(value, dest);
  pmix_value_t whole;
  const int code = FromReal(value, &whole);
  return code == PMIX_SUCCESS ? StoreInteger<T>(whole, dest) : code;
}

// Returns true if an integer value is unchanged after conversion to a double.
bool IsExact(const pmix_value_t& value, double real) {
  if (const auto wide = Uint64Of(value)) {
    return real < 0x1p64 && static_cast<uint64_t>(real) == *wide;
  }
  return static_cast<int64_t>(real) == *Int64Of(value);
}

template <typename T>
int StoreReal(const pmix_value_t& value, void* dest) {
  const auto real = DoubleOf(value);
  if (!real) return PMIX_ERR_BAD_PARAM;
  const T result = static_cast<T>(*real);
  const bool exact =
      IsReal(value)
          ? *real != *real || static_cast<double>(result) == *real
          : IsExact(value, *real) && static_cast<double>(result) == *real;
  if (!exact) return PMIX_ERR_LOST_PRECISION;
  memcpy(dest, &result, sizeof(result));
  return PMIX_SUCCESS;
}

}  // namespace

int StoreNumber(const pmix_value_t& value, pmix_data_type_t id, void* dest) {
  if (dest == nullptr || !DoubleOf(value)) return PMIX_ERR_BAD_PARAM;
  const TypeInfo* type = FindType(id);
  if (type == nullptr || type->indirect || type->num_fields != 1) {
    return PMIX_ERR_BAD_PARAM;
  }
  switch (type->fields->shape) {
    case Shape::kByte:
      return StoreWhole<uint8_t>(value, dest);
    case Shape::kInt8:
      return StoreWhole<int8_t>(value, dest);
    case Shape::kInt16:
      return StoreWhole<int16_t>(value, dest);
    case Shape::kUint16:
      return StoreWhole<uint16_t>(value, dest);
    case Shape::kInt32:
    case Shape::kInt:
    case Shape::kPid:
      return StoreWhole<int32_t>(value, dest);
    case Shape::kUint32:
    case Shape::kUint:
      return StoreWhole<uint32_t>(value, dest);
    case Shape::kInt64:
    case Shape::kTime:
      return StoreWhole<int64_t>(value, dest);
    case Shape::kUint64:
    case Shape::kSize:
      return StoreWhole<uint64_t>(value, dest);
    case Shape::kFloat:
      return StoreReal<float>(value, dest);
    case Shape::kDouble:
      return StoreReal<double>(value, dest);
    default:
      return PMIX_ERR_BAD_PARAM;
  }
}

}  // namespace canopy
