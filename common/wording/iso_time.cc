#include "common/wording/iso_time.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace canopy {

std::string IsoTime(std::chrono::system_clock::time_point time) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const auto whole = std::chrono::floor<seconds>(time.time_since_epoch());
  const auto rest = std::chrono::floor<milliseconds>(time.time_since_epoch()) -
                    std::chrono::duration_cast<milliseconds>(whole);
  const std::time_t number = whole.count();
  std::tm parts = {};
  localtime_r(&number, &parts);
  char day[32] = "";
  std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
  const long minutes = std::labs(parts.tm_gmtoff) / 60;
  char text[64];
  std::snprintf(text, sizeof text, "%s.%03d%c%02ld:%02ld", day,
                static_cast<int>(rest.count()), parts.tm_gmtoff < 0 ? '-' : '+',
                minutes / 60, minutes % 60);
  return text;
}

}  // namespace canopy
