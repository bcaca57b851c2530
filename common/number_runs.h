// A set of numbers that mostly follow each other, as the runs that they make.
#ifndef CANOPY_COMMON_NUMBER_RUNS_H_
#define CANOPY_COMMON_NUMBER_RUNS_H_

#include <cstdint>
#include <deque>

namespace canopy {

// Numbers that come and go in ascending order cost the same however many there
// are; others cost what it takes to move the runs on one side of them. Not
// synchronised.
class NumberRuns {
 public:
  // These and what is between them, none of which is there.
  void Insert(uint64_t first, uint64_t last);
  // No effect when it is not there.
  void Erase(uint64_t number);
  bool Contains(uint64_t number) const;
  // The lowest one above `number`, which is not there itself; without one, the
  // highest that a number can be.
  uint64_t Above(uint64_t number) const;
  bool empty() const { return runs_.empty(); }

 private:
  struct Run {
    uint64_t first;
    uint64_t last;
  };
  using Runs = std::deque<Run>;

  // The first run that does not end before the number.
  Runs::const_iterator Find(uint64_t number) const;

  Runs runs_;  // ascending, with a gap between any two
};

}  // namespace canopy

#endif  // CANOPY_COMMON_NUMBER_RUNS_H_
