// The part of Decoder that skips elements without building them.
#include "common/codec/decoder.h"

namespace canopy {

bool Decoder::SkipValue() {
  uint16_t id = 0;
  if (!GetUint16(&id)) return false;
  const TypeInfo* type = Carried(id);
  if (type == nullptr) return false;
  if (depth_ >= kMaxNesting) return Fail(kErrUnpackFailure);
  ++depth_;
  const bool skipped = SkipFields(*type);
  --depth_;
  return skipped;
}

bool Decoder::SkipElements(pmix_data_type_t id, size_t count) {
  return SkipTyped(id, count);
}

bool Decoder::SkipTyped(pmix_data_type_t id, size_t count) {
  const TypeInfo* type = Carried(id);
  if (type == nullptr || !CheckCount(id, *type, count)) return false;
  if (id == PMIX_POINTER && count > 1) count = 1;
  for (size_t i = 0; i < count; ++i) {
    if (!SkipFields(*type)) return false;
  }
  return ok();
}

bool Decoder::SkipFields(const TypeInfo& type) {
  for (const Field& field : type) {
    if (field.on_wire && !SkipField(field)) return false;
  }
  return ok();
}

bool Decoder::SkipField(const Field& field) {
  std::string_view view;
  switch (field.shape) {
    case Shape::kString:
    case Shape::kCpuset:
      return GetString(&view);
    case Shape::kName:
      return GetString(&view) &&
             (view.size() < field.extent || Fail(kErrUnpackFailure));
    case Shape::kBytes:
    case Shape::kBuffer:
      return GetBytes(&view);
    case Shape::kRegex:
      return RegexView(&view);
    case Shape::kValue:
      return SkipValue();
    case Shape::kStruct:
      return SkipFields(*FindType(field.element));
    case Shape::kStrings: {
      size_t count = 0;
      return GetCount(field.count, &count) && SkipTyped(PMIX_STRING, count);
    }
    case Shape::kList: {
      size_t count = 0;
      return GetCount(field.count, &count) && SkipTyped(field.element, count);
    }
    case Shape::kDataArray: {
      uint16_t type = PMIX_UNDEF;
      size_t count = 0;
      if (!GetArrayHead(&type, &count)) return false;
      if (depth_ >= kMaxNesting) return Fail(kErrUnpackFailure);
      ++depth_;
      const bool skipped = SkipTyped(type, count);
      --depth_;
      return skipped;
    }
    default: {
      // Plain members are read into a scratch buffer that fits the largest.
      alignas(16) char scratch[16] = {};
      Field local = field;
      local.offset = 0;
      return GetField(local, scratch);
    }
  }
}

}  // namespace canopy
