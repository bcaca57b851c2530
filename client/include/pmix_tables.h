#ifndef CANOPY_CLIENT_INCLUDE_PMIX_TABLES_H_
#define CANOPY_CLIENT_INCLUDE_PMIX_TABLES_H_

#include <compare>
#include <cstdint>
#include <ostream>
#include <span>
#include <string_view>

namespace canopy {

// The names and numbers of the PMIx interface, from the same tables as the C
// headers. Everything here is constant data: no initialisation at run time, no
// locks, any thread. All strings are string literals, so `.data()` ends with a
// terminator.

// A string of the tables, stored as its position among all texts. Pointers
// would have to be relocated, and each process would then need its own copy of
// their pages.
class TableText {
 public:
  constexpr explicit TableText(std::uint32_t place) : place_(place) {}
  const char* data() const;
  std::string_view view() const { return data(); }
  operator std::string_view() const { return view(); }  // NOLINT
  bool empty() const { return *data() == '\0'; }
  bool starts_with(std::string_view text) const {
    return view().starts_with(text);
  }
  friend bool operator==(TableText a, std::string_view b) {
    return a.view() == b;
  }
  friend auto operator<=>(TableText a, std::string_view b) {
    return a.view() <=> b;
  }
  friend bool operator==(TableText a, TableText b) {
    return a.view() == b.view();
  }
  friend auto operator<=>(TableText a, TableText b) {
    return a.view() <=> b.view();
  }
  friend std::ostream& operator<<(std::ostream& out, TableText text) {
    return out << text.view();
  }

 private:
  std::uint32_t place_;
};

// An attribute. Several attributes may share a key: an old name beside its
// replacement, or two attributes that the standard never distinguished.
struct AttributeEntry {
  TableText name;           // name of the macro, "PMIX_JOB_SIZE"
  TableText key;            // "pmix.job.size"
  TableText type;           // C type of its value, "uint32_t"; or "varies"
  TableText group;          // the subject, "reserved-key:job"
  std::uint16_t data_type;  // pmix_data_type_t of its value; 0: it varies
  bool deprecated;          // replaced or removed by the standard
};

// A numeric constant or enumerator.
struct ConstantEntry {
  TableText name;  // "PMIX_ERR_TIMEOUT"
  TableText type;  // "pmix_status_t"; empty for limits and versions
  TableText text;  // the printed text; empty if no printer has the constant
  std::int64_t value;
};

// An exported function.
struct FunctionEntry {
  TableText name;   // "PMIx_Get"
  TableText role;   // the callers: "client/tool", "server", "util", ...
  TableText group;  // "put-get"
};

// An attribute that a function of the library, or a host function type
// (pmix_server_..._fn_t), knows according to the standard.
struct FunctionAttribute {
  TableText function;   // "PMIx_Fence", "pmix_server_fencenb_fn_t"
  TableText attribute;  // "PMIX_COLLECT_DATA"
  bool required;        // the provider must support the attribute
  bool by_host;         // the host is the provider, otherwise the library
};

// Returns all attributes, sorted by name.
std::span<const AttributeEntry> Attributes();

// Returns all constants, sorted by name.
std::span<const ConstantEntry> Constants();

// Returns all PMIx functions, sorted by name.
std::span<const FunctionEntry> Functions();

// Returns the attributes of `function`, sorted by name; empty if it has none.
std::span<const FunctionAttribute> AttributesOf(std::string_view function);

// Returns the attribute whose macro is `name`, or nullptr.
const AttributeEntry* FindAttributeByName(std::string_view name);

// Returns the attribute with this key, or nullptr. If several share the key, an
// attribute that is not deprecated is preferred.
const AttributeEntry* FindAttributeByKey(std::string_view key);

// Returns the constant called `name`, or nullptr.
const ConstantEntry* FindConstant(std::string_view name);

// Returns the constant of `type` with this value that has a text, or nullptr.
// If several have the value, a constant that is not deprecated is preferred.
const ConstantEntry* FindConstant(std::string_view type, std::int64_t value);

// Returns the printed text for `value` of `type`, or `otherwise`, which must be
// a literal too, if the value is unknown.
const char* ConstantText(std::string_view type, std::int64_t value,
                         const char* otherwise);

}  // namespace canopy

#endif  // CANOPY_CLIENT_INCLUDE_PMIX_TABLES_H_
