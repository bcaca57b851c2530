// The specification of an event handler: the events that it accepts, and its
// place among the other handlers.
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

// The members of both enumerations are in the order in which handlers run.
enum class Category : uint8_t { kFirst, kSingle, kMulti, kDefault, kLast };
enum class Place : uint8_t {
  kFirstInCategory,
  kPrepended,
  kPlain,
  kAppended,
  kLastInCategory,
};

struct HandlerSpec {
  std::vector<pmix_status_t> codes;  // empty for a default handler
  pmix_notification_fn_t function = nullptr;
  void* return_object = nullptr;
  bool has_return_object = false;
  bool one_shot = false;
  Category category = Category::kDefault;
  Place place = Place::kPlain;
  // The source of an event must be within this range.
  pmix_data_range_t range = PMIX_RANGE_UNDEF;
  std::vector<ProcId> affected;  // empty: any process
  std::string name;
  std::string before;  // the handler directly before which this one runs
  std::string after;
  std::vector<ProcId> sources;  // accepted sources, with PMIX_RANGE_CUSTOM
};

// Parses the arguments of PMIx_Register_event_handler. Returns
// PMIX_ERR_BAD_PARAM for contradictory arguments, and PMIX_ERR_NOT_SUPPORTED
// for an unknown required directive.
int ParseHandlerSpec(const pmix_status_t* codes, size_t ncodes,
                     const pmix_info_t* info, size_t ninfo,
                     pmix_notification_fn_t function, HandlerSpec* spec);

// The location of this process, which decides whether a source is in a range.
class SourcePlaces {
 public:
  virtual ~SourcePlaces() = default;
  virtual const ProcId& self() const = 0;
  virtual bool OnSameNode(const ProcId& proc) const = 0;
  virtual bool IsServer(const ProcId& proc) const = 0;
};

// Returns true if the handler accepts this event.
bool Wants(const HandlerSpec& spec, const Event& event,
           const SourcePlaces& places);

// The place of a handler in the whole chain. `number` is the number of its
// registration.
struct ChainPosition {
  Category category = Category::kDefault;
  Place place = Place::kPlain;
  int64_t number = 0;  // negative for kPrepended: the latest runs first

  auto operator<=>(const ChainPosition&) const = default;
};
ChainPosition PositionOf(const HandlerSpec& spec, int64_t number);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_EVENTS_HANDLER_H_
