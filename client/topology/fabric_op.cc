#include "client/topology/fabric_op.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/topology/fabric.h"
#include "client/topology/machine.h"
#include "common/mutex.h"
#include "common/support/ignored_directives.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

struct Registration {
  FabricName name;  // set for a fabric with data of this node
  InfoList infos;
  bool of_host = false;
};

// pmix_fabric_t::module is looked up here before it is used, because the user's
// structure may belong to another library or be uninitialized.
class Registrations {
 public:
  static Registrations& Get() {
    static Registrations* const registrations = new Registrations;
    return *registrations;
  }

  Registration* Add(Registration added) CANOPY_EXCLUDES(mu_) {
    auto owned = std::make_unique<Registration>(std::move(added));
    Registration* const registration = owned.get();
    const MutexLock lock(mu_);
    live_.emplace(registration, std::move(owned));
    return registration;
  }
  // Returns null if the module is not registered.
  Registration* Find(void* module) CANOPY_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    const auto it = live_.find(module);
    return it == live_.end() ? nullptr : it->second.get();
  }
  bool Remove(void* module) CANOPY_EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    return live_.erase(module) > 0;
  }

 private:
  Mutex mu_;
  std::map<void*, std::unique_ptr<Registration>> live_ CANOPY_GUARDED_BY(mu_);
};

// Empty fields match any fabric.
struct FabricSelection {
  std::string identifier;
  std::string vendor;
  std::string plane;

  bool Has(const FabricName& name) const {
    return (identifier.empty() || identifier == name.identifier) &&
           (vendor.empty() || vendor == name.vendor) &&
           (plane.empty() || plane == name.plane);
  }
};

int ReadText(const pmix_info_t& info, std::string* out) {
  const auto text = StringOf(info.value);
  if (!text || text->empty()) return PMIX_ERR_BAD_PARAM;
  *out = std::string(*text);
  return PMIX_SUCCESS;
}

int ParseOne(const pmix_info_t& info, FabricSelection* out) {
  const std::string_view key = KeyOf(info);
  if (key == PMIX_FABRIC_IDENTIFIER) return ReadText(info, &out->identifier);
  if (key == PMIX_FABRIC_VENDOR) return ReadText(info, &out->vendor);
  if (key == PMIX_FABRIC_PLANE) return ReadText(info, &out->plane);
  return support::NotHonoured("PMIx_Fabric_register", info);
}

int Parse(const pmix_info_t* directives, size_t ndirs, FabricSelection* out) {
  if (directives == nullptr && ndirs > 0) return PMIX_ERR_BAD_PARAM;
  for (size_t i = 0; i < ndirs; ++i) {
    const int rc = ParseOne(directives[i], out);
    if (rc != PMIX_SUCCESS) return rc;
  }
  return PMIX_SUCCESS;
}

void Show(size_t index, Registration* registration, pmix_fabric_t* fabric) {
  fabric->index = index;
  fabric->info = registration->infos.mutable_data();
  fabric->ninfo = registration->infos.size();
  fabric->module = registration;
}

// Finds the first fabric that `wanted` matches in the current hardware.
template <typename Wanted>
int Look(const Wanted& wanted, Registration* found, size_t* index) {
  const std::unique_ptr<const Machine> machine = Machine::Look();
  if (machine == nullptr) return PMIX_ERR_NOT_SUPPORTED;
  const std::vector<Fabric> fabrics = FindFabrics(*machine);
  const auto it = std::ranges::find_if(fabrics, wanted, &Fabric::name);
  if (it == fabrics.end()) return PMIX_ERR_NOT_FOUND;
  *index = static_cast<size_t>(it - fabrics.begin());
  *found = {it->name, DescribeFabric(*it, *index), false};
  return PMIX_SUCCESS;
}

size_t IndexIn(const InfoList& told) {
  return static_cast<size_t>(told.FindUint(PMIX_FABRIC_INDEX).value_or(0));
}

}  // namespace

int MayRegisterFabric(const pmix_fabric_t* fabric) {
  const bool may =
      fabric != nullptr && Registrations::Get().Find(fabric->module) == nullptr;
  return may ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

int RegisterFabric(pmix_fabric_t* fabric, const pmix_info_t* directives,
                   size_t ndirs) {
  int rc = MayRegisterFabric(fabric);
  if (rc != PMIX_SUCCESS) return rc;
  FabricSelection selection;
  rc = Parse(directives, ndirs, &selection);
  if (rc != PMIX_SUCCESS) return rc;
  Registration found;
  size_t index = 0;
  rc = Look([&](const FabricName& name) { return selection.Has(name); }, &found,
            &index);
  if (rc != PMIX_SUCCESS) return rc;
  Show(index, Registrations::Get().Add(std::move(found)), fabric);
  return PMIX_SUCCESS;
}

int UpdateFabric(pmix_fabric_t* fabric) {
  if (fabric == nullptr) return PMIX_ERR_BAD_PARAM;
  Registration* const known = Registrations::Get().Find(fabric->module);
  if (known == nullptr) return PMIX_ERR_BAD_PARAM;
  Registration found;
  size_t index = 0;
  const int rc =
      Look([&](const FabricName& name) { return name == known->name; }, &found,
           &index);
  if (rc != PMIX_SUCCESS) return rc;
  *known = std::move(found);
  Show(index, known, fabric);
  return PMIX_SUCCESS;
}

int RegisterHostsFabric(pmix_fabric_t* fabric, InfoList told) {
  const int rc = MayRegisterFabric(fabric);
  if (rc != PMIX_SUCCESS) return rc;
  const size_t index = IndexIn(told);
  Show(index, Registrations::Get().Add({{}, std::move(told), true}), fabric);
  return PMIX_SUCCESS;
}

int UpdateHostsFabric(pmix_fabric_t* fabric, InfoList told) {
  Registration* const known = Registrations::Get().Find(fabric->module);
  if (known == nullptr) return PMIX_ERR_BAD_PARAM;
  const size_t index =
      told.Has(PMIX_FABRIC_INDEX) ? IndexIn(told) : IndexIn(known->infos);
  known->infos = std::move(told);
  Show(index, known, fabric);
  return PMIX_SUCCESS;
}

int NameHostsFabric(const pmix_fabric_t* fabric, InfoList* name) {
  if (fabric == nullptr) return PMIX_ERR_BAD_PARAM;
  const Registration* known = Registrations::Get().Find(fabric->module);
  if (known == nullptr) return PMIX_ERR_BAD_PARAM;
  if (!known->of_host) return PMIX_ERR_NOT_SUPPORTED;
  name->Set(PMIX_FABRIC_INDEX, Value::Size(fabric->index));
  for (const char* key :
       {PMIX_FABRIC_IDENTIFIER, PMIX_FABRIC_VENDOR, PMIX_FABRIC_PLANE}) {
    const pmix_info_t* told = known->infos.Find(key);
    if (told != nullptr) name->Append(*told);
  }
  return PMIX_SUCCESS;
}

int DeregisterFabric(pmix_fabric_t* fabric) {
  if (fabric == nullptr) return PMIX_ERR_BAD_PARAM;
  if (!Registrations::Get().Remove(fabric->module)) return PMIX_ERR_BAD_PARAM;
  fabric->index = 0;
  fabric->info = nullptr;
  fabric->ninfo = 0;
  fabric->module = nullptr;
  return PMIX_SUCCESS;
}

}  // namespace canopy::client
