#include "common/values/print.h"

#include <string>

#include "common/values/memory.h"
#include "common/values/simple_text.h"
#include "common/values/struct_text.h"
#include "common/values/value_ops.h"

namespace canopy {
namespace {

// Returns the printed name of a type, which for some types is not the name of
// the constant.
const char* Label(pmix_data_type_t type) {
  if (type == PMIX_LOCTYPE) return "PMIX_LOCALITY";
  if (type == PMIX_DEVTYPE) return "PMIX_DEVICE_TYPE";
  return FindType(type)->name;
}

std::string PrintBytes(const Page& page, const char* type) {
  return Format("%sData type: %s\tSize: %zu", page.prefix.c_str(), type,
                As<pmix_byte_object_t>(page.element).size);
}

}  // namespace

std::string PrintElement(pmix_data_type_t id, const void* element,
                         std::string_view prefix, int depth) {
  const std::string start(prefix);
  const TypeInfo* type = FindType(id);
  if (type == nullptr || type->size == 0) {
    return start + Format("Data type: UNKNOWN(%u)\tValue: UNPRINTABLE", id);
  }
  if (element == nullptr) {
    return start + "Data type: " + Label(id) + "\tValue: NULL pointer";
  }
  if (depth > kMaxNesting) return start + "...";
  if (id == PMIX_VALUE) {
    return PrintValue(As<pmix_value_t>(element), prefix, depth);
  }
  const Page page = {element, start, depth};
  if (const Printer printer = PrinterOf(id); printer != nullptr) {
    return printer(page);
  };
  if (type->fields->shape == Shape::kBytes) return PrintBytes(page, type->name);
  if (id == PMIX_POINTER) {
    return start +
           Format("Data type: PMIX_POINTER\tAddress: %p", As<void*>(element));
  }
  return start + "Data type: " + Label(id) +
         "\tValue: " + SimpleText(id, element);
}

std::string PrintValue(const pmix_value_t& value, std::string_view prefix,
                       int depth) {
  const std::string start = std::string(prefix) + "PMIX_VALUE: ";
  if (value.type == PMIX_UNDEF) return start + " Data type: PMIX_UNDEF";
  const TypeInfo* type = FindType(value.type);
  const void* element = type == nullptr ? nullptr : ValueElement(*type, value);
  return start + PrintElement(value.type, element, " ", depth + 1);
}

}  // namespace canopy
