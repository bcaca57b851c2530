// What a scheduler says for people.
#ifndef CANOPY_SERVER_SCHEDULER_LINE_H_
#define CANOPY_SERVER_SCHEDULER_LINE_H_

#include <cstddef>
#include <string>

namespace canopy::scheduler {

// One printable line of it: what is beyond kMaxLine bytes is left out. Such
// texts are kept, persisted and sent to launchers.
inline constexpr size_t kMaxLine = 1024;
std::string LineOf(const std::string& text);

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_LINE_H_
