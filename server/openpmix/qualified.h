// Values that differ by qualifiers. Peers give all of them the one key
// "pmix.qual.val", each with the key that is meant inside; we keep together
// those of one meant key, under a key of their own, so that a get can wait for
// them and a later commit replaces them.
#ifndef CANOPY_SERVER_OPENPMIX_QUALIFIED_H_
#define CANOPY_SERVER_OPENPMIX_QUALIFIED_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::openpmix {

// True for the key that peers use.
bool IsQualified(std::string_view key);

// The key under which the qualified values of `key` are kept.
std::string QualifiedKey(std::string_view key);

// Collects qualified values of one commit. Values are VALUEs of our form.
class QualifiedValues {
 public:
  // False when the value is not what peers put under that key.
  bool Add(std::string_view value);
  // Appends one KVAL for each meant key.
  void AppendTo(std::string* kvals) const;

 private:
  std::map<std::string, std::vector<std::string>> by_key_;
};

// True for a key of QualifiedKey.
bool HoldsQualified(std::string_view key);

// The values that AppendTo put into one KVAL's value.
std::vector<std::string_view> QualifiedValuesIn(std::string_view value);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_QUALIFIED_H_
