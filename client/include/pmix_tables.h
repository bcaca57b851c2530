#ifndef CANOPY_CLIENT_INCLUDE_PMIX_TABLES_H_
#define CANOPY_CLIENT_INCLUDE_PMIX_TABLES_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace canopy {

// The names and numbers of the PMIx interface, from the same tables as the C
// headers. Everything here is constant data: no initialisation at run time, no
// locks, any thread. All strings are string literals, so `.data()` ends with a
// terminator.

// An attribute. Several attributes may share a key: an old name beside its
// replacement, or two attributes that the standard never told apart.
struct AttributeEntry {
  std::string_view name;    // its macro, "PMIX_JOB_SIZE"
  std::string_view key;     // "pmix.job.size"
  std::string_view type;    // C type of its value, "uint32_t"; "varies" if open
  std::string_view group;   // what it belongs to, "reserved-key:job"
  std::uint16_t data_type;  // pmix_data_type_t of its value, 0 if open
  bool deprecated;          // replaced or removed by the standard
};

// A numeric constant or enumerator.
struct ConstantEntry {
  std::string_view name;  // "PMIX_ERR_TIMEOUT"
  std::string_view type;  // "pmix_status_t"; empty for limits and versions
  std::string_view text;  // what the printers print; empty if none prints it
  std::int64_t value;
};

// An exported function.
struct FunctionEntry {
  std::string_view name;   // "PMIx_Get"
  std::string_view role;   // who calls it: "client/tool", "server", "util", ...
  std::string_view group;  // "put-get"
};

// An attribute that a function of the library, or a host function type
// (pmix_server_..._fn_t), knows according to the standard.
struct FunctionAttribute {
  std::string_view function;   // "PMIx_Fence", "pmix_server_fencenb_fn_t"
  std::string_view attribute;  // "PMIX_COLLECT_DATA"
  bool required;               // whoever provides it has to support it
  bool by_host;                // the host provides it, else the library
};

// All attributes, sorted by name.
std::span<const AttributeEntry> Attributes();

// All constants, sorted by name.
std::span<const ConstantEntry> Constants();

// All PMIx functions, sorted by name.
std::span<const FunctionEntry> Functions();

// The attributes of `function`, sorted by name; empty if it has none.
std::span<const FunctionAttribute> AttributesOf(std::string_view function);

// The attribute whose macro is `name`, or nullptr.
const AttributeEntry* FindAttributeByName(std::string_view name);

// The attribute with this key, or nullptr. Where several share it: one that is
// not deprecated, if there is one.
const AttributeEntry* FindAttributeByKey(std::string_view key);

// The constant called `name`, or nullptr.
const ConstantEntry* FindConstant(std::string_view name);

// The constant of `type` with this value that has a text, or nullptr. Where
// several have the value: one that is not deprecated, if there is one.
const ConstantEntry* FindConstant(std::string_view type, std::int64_t value);

// What the printers print for `value` of `type`; `otherwise`, which must be a
// literal too, when nothing is known about the value.
const char* ConstantText(std::string_view type, std::int64_t value,
                         const char* otherwise);

}  // namespace canopy

#endif  // CANOPY_CLIENT_INCLUDE_PMIX_TABLES_H_
