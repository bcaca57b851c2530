#include "client/events/handler.h"

#include <algorithm>
#include <string_view>

#include "common/support/ignored_directives.h"
#include "common/values/value.h"
#include "common/values/value_ops.h"

namespace canopy::client {
namespace {

struct PlaceName {
  std::string_view key;
  Place place;
};
constexpr PlaceName kPlaceNames[] = {
    {PMIX_EVENT_HDLR_FIRST_IN_CATEGORY, Place::kFirstInCategory},
    {PMIX_EVENT_HDLR_LAST_IN_CATEGORY, Place::kLastInCategory},
    {PMIX_EVENT_HDLR_PREPEND, Place::kPrepended},
    {PMIX_EVENT_HDLR_APPEND, Place::kAppended},
};

Category CategoryOf(size_t ncodes) {
  if (ncodes == 0) return Category::kDefault;
  return ncodes == 1 ? Category::kSingle : Category::kMulti;
}

int ParseText(const pmix_info_t& info, std::string* out) {
  const auto text = StringOf(info.value);
  if (!text) return PMIX_ERR_BAD_PARAM;
  *out = std::string(*text);
  return PMIX_SUCCESS;
}

int ParseRange(const pmix_info_t& info, pmix_data_range_t* out) {
  const auto range = Uint64Of(info.value);
  if (!range || *range > PMIX_RANGE_PROC_LOCAL) return PMIX_ERR_BAD_PARAM;
  *out = static_cast<pmix_data_range_t>(*range);
  return PMIX_SUCCESS;
}

int ParseProcs(const pmix_info_t& info, std::vector<ProcId>* out) {
  std::vector<ProcId> procs = ProcsOfInfo(info);
  if (procs.empty()) return PMIX_ERR_BAD_PARAM;
  out->insert(out->end(), procs.begin(), procs.end());
  return PMIX_SUCCESS;
}

bool ParsePlace(const pmix_info_t& info, std::string_view key,
                HandlerSpec* spec) {
  const bool set = ValueTruth(info.value) == PMIX_BOOL_TRUE;
  for (const PlaceName& name : kPlaceNames) {
    if (key != name.key) continue;
    if (set) spec->place = name.place;
    return true;
  }
  if (key == PMIX_EVENT_HDLR_FIRST) {
    if (set) spec->category = Category::kFirst;
  } else if (key == PMIX_EVENT_HDLR_LAST) {
    if (set) spec->category = Category::kLast;
  } else {
    return false;
  }
  return true;
}

int ParseReturnObject(const pmix_info_t& info, HandlerSpec* spec) {
  if (info.value.type != PMIX_POINTER) return PMIX_ERR_BAD_PARAM;
  spec->return_object = info.value.data.ptr;
  spec->has_return_object = true;
  return PMIX_SUCCESS;
}

int ParseOne(const pmix_info_t& info, HandlerSpec* spec) {
  const std::string_view key = KeyOf(info);
  if (ParsePlace(info, key, spec)) return PMIX_SUCCESS;
  if (key == PMIX_EVENT_HDLR_NAME) return ParseText(info, &spec->name);
  if (key == PMIX_EVENT_HDLR_BEFORE) return ParseText(info, &spec->before);
  if (key == PMIX_EVENT_HDLR_AFTER) return ParseText(info, &spec->after);
  if (key == PMIX_RANGE) return ParseRange(info, &spec->range);
  if (key == PMIX_EVENT_CUSTOM_RANGE) return ParseProcs(info, &spec->sources);
  if (key == PMIX_EVENT_AFFECTED_PROC || key == PMIX_EVENT_AFFECTED_PROCS) {
    return ParseProcs(info, &spec->affected);
  }
  if (key == PMIX_EVENT_RETURN_OBJECT) return ParseReturnObject(info, spec);
  if (key == PMIX_EVENT_ONESHOT) {
    spec->one_shot = ValueTruth(info.value) == PMIX_BOOL_TRUE;
    return PMIX_SUCCESS;
  }
  return support::NotHonoured("PMIx_Register_event_handler", info);
}

bool SourceInRange(const HandlerSpec& spec, const ProcId& source,
                   const SourcePlaces& places) {
  switch (spec.range) {
    case PMIX_RANGE_RM:
      return places.IsServer(source);
    case PMIX_RANGE_LOCAL:
      return places.OnSameNode(source);
    case PMIX_RANGE_NAMESPACE:
      return source.nspace == places.self().nspace;
    case PMIX_RANGE_CUSTOM:
      return MatchesAny(spec.sources, source);
    case PMIX_RANGE_PROC_LOCAL:
      return source == places.self();
    default:
      return true;
  }
}

bool AffectedMatches(const HandlerSpec& spec, const Event& event) {
  if (spec.affected.empty() || event.affected.empty()) return true;
  return std::any_of(
      event.affected.begin(), event.affected.end(),
      [&](const ProcId& proc) { return MatchesAny(spec.affected, proc); });
}

}  // namespace

int ParseHandlerSpec(const pmix_status_t* codes, size_t ncodes,
                     const pmix_info_t* info, size_t ninfo,
                     pmix_notification_fn_t function, HandlerSpec* spec) {
  if (function == nullptr) return PMIX_ERR_BAD_PARAM;
  if ((info == nullptr && ninfo > 0) || (codes == nullptr && ncodes > 0)) {
    return PMIX_ERR_BAD_PARAM;
  }
  spec->function = function;
  if (ncodes > 0) spec->codes.assign(codes, codes + ncodes);
  spec->category = CategoryOf(ncodes);
  for (size_t i = 0; i < ninfo; ++i) {
    const int rc = ParseOne(info[i], spec);
    if (rc != PMIX_SUCCESS) return rc;
  }
  if (spec->range == PMIX_RANGE_CUSTOM && spec->sources.empty()) {
    return PMIX_ERR_BAD_PARAM;
  }
  if (!spec->sources.empty() && spec->range == PMIX_RANGE_UNDEF) {
    spec->range = PMIX_RANGE_CUSTOM;
  }
  return PMIX_SUCCESS;
}

bool Wants(const HandlerSpec& spec, const Event& event,
           const SourcePlaces& places) {
  if (spec.codes.empty()) {
    if (event.non_default) return false;
  } else if (std::find(spec.codes.begin(), spec.codes.end(), event.status) ==
             spec.codes.end()) {
    return false;
  }
  return SourceInRange(spec, event.source, places) &&
         AffectedMatches(spec, event);
}

ChainPosition PositionOf(const HandlerSpec& spec, int64_t number) {
  return {spec.category, spec.place,
          spec.place == Place::kPrepended ? -number : number};
}

}  // namespace canopy::client
