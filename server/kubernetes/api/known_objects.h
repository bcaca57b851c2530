// The objects of a collection that a watch has reported.
#ifndef CANOPY_SERVER_KUBERNETES_API_KNOWN_OBJECTS_H_
#define CANOPY_SERVER_KUBERNETES_API_KNOWN_OBJECTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/kubernetes/api/json.h"

namespace canopy::kubernetes {

struct ObjectIdentity {
  std::string nspace;
  std::string name;
  std::string uid;
  std::string version;  // the resourceVersion
};

// Returns no value if the object lacks its name, uid or version, or one of
// these is longer than any that the server assigns.
std::optional<ObjectIdentity> IdentityOf(const Json& object);
// Returns an object that has only this metadata.
Json ObjectWith(const ObjectIdentity& identity);

// At any time, a collection has one object of a name; a later object of the
// same name has another uid.
class KnownObjects {
 public:
  enum class Difference { kNone, kNew, kChanged };

  size_t size() const { return objects_.size(); }

  // Removes and returns the object whose name another object has now.
  std::optional<ObjectIdentity> TakeReplaced(const ObjectIdentity& object);
  // Records the object, and returns how it differs from what was known.
  Difference Record(const ObjectIdentity& object);
  // Returns false if the object was not known.
  bool Remove(const ObjectIdentity& object);

  // The objects that are not recorded between these calls do not exist any
  // more: EndList removes and returns them. BeginList may be called again
  // instead of EndList.
  void BeginList() { ++list_; }
  std::vector<ObjectIdentity> EndList();

 private:
  struct Known {
    std::string uid;
    std::string version;
    uint64_t list = 0;  // during which the object was recorded last
  };

  // The keys are a namespace and a name.
  std::map<std::pair<std::string, std::string>, Known> objects_;
  uint64_t list_ = 0;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_KNOWN_OBJECTS_H_
