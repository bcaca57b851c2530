// An event handler: what it wants and its place among the others.
#ifndef CANOPY_CLIENT_EVENTS_HANDLER_H_
#define CANOPY_CLIENT_EVENTS_HANDLER_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/events/event.h"
#include "common/ids.h"
#include "pmix.h"

namespace canopy::client {

// In the order in which handlers run.
enum class Category : uint8_t { kFirst, kSingle, kMulti, kDefault, kLast };
enum class Place : uint8_t {
  kFirstInCategory,
  kPrepended,
  kPlain,
  kAppended,
  kLastInCategory,
};

struct HandlerSpec {
  std::vector<pmix_status_t> codes;  // empty: a default handler
  pmix_notification_fn_t function = nullptr;
  void* return_object = nullptr;
  bool has_return_object = false;
  bool one_shot = false;
  Category category = Category::kDefault;
  Place place = Place::kPlain;
  pmix_data_range_t range = PMIX_RANGE_UNDEF;  // of the event's source
  std::vector<ProcId> affected;                // empty: any
  std::string name;
  std::string before;  // run next to the handler of this name
  std::string after;
  std::vector<ProcId> sources;  // with PMIX_RANGE_CUSTOM
};

// Reads what PMIx_Register_event_handler was given. PMIX_ERR_BAD_PARAM for
// what contradicts itself, PMIX_ERR_NOT_SUPPORTED for a required directive
// that is not known.
int ParseHandlerSpec(const pmix_status_t* codes, size_t ncodes,
                     const pmix_info_t* info, size_t ninfo,
                     pmix_notification_fn_t function, HandlerSpec* spec);

// Where this process is, to tell whether a source is in a range.
class SourcePlaces {
 public:
  virtual ~SourcePlaces() = default;
  virtual const ProcId& self() const = 0;
  virtual bool OnSameNode(const ProcId& proc) const = 0;
  virtual bool IsServer(const ProcId& proc) const = 0;
};

// Whether the handler wants this event.
bool Wants(const HandlerSpec& spec, const Event& event,
           const SourcePlaces& places);

// Place of a handler in the whole chain. `number` counts registrations.
struct ChainPosition {
  Category category = Category::kDefault;
  Place place = Place::kPlain;
  int64_t number = 0;  // negative among the prepended: the latest comes first

  auto operator<=>(const ChainPosition&) const = default;
};
ChainPosition PositionOf(const HandlerSpec& spec, int64_t number);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_EVENTS_HANDLER_H_
