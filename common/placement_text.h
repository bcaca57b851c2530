// The texts with which an agent lists a queued job among the waiting
// operations. Commands recognise a queued job by these texts.
#ifndef CANOPY_COMMON_PLACEMENT_TEXT_H_
#define CANOPY_COMMON_PLACEMENT_TEXT_H_

namespace canopy {

inline constexpr char kPlacementOperation[] = "its place";
// The beginning of the text about the wait: the job waits for the scheduler,
// whose reason follows.
inline constexpr char kPlacementPrefix[] = "the scheduler: ";

}  // namespace canopy

#endif  // CANOPY_COMMON_PLACEMENT_TEXT_H_
