// Prints elements with structure; part of print.h.
#ifndef CANOPY_COMMON_VALUES_STRUCT_TEXT_H_
#define CANOPY_COMMON_VALUES_STRUCT_TEXT_H_

#include <string>

#include "common/values/type_table.h"

namespace canopy {

// The arguments of a function that prints one element.
struct Page {
  const void* element;
  std::string prefix;
  int depth;

  // Prints an inner element.
  std::string Sub(pmix_data_type_t type, const void* inner) const;
};

using Printer = std::string (*)(const Page&);

// Returns the printer of a type, or null for a type without structure. The type
// must be known.
Printer PrinterOf(pmix_data_type_t type);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_STRUCT_TEXT_H_
