// A set of numbers that are mostly consecutive, stored as runs.
#ifndef CANOPY_COMMON_NUMBER_RUNS_H_
#define CANOPY_COMMON_NUMBER_RUNS_H_

#include <cstdint>
#include <deque>

namespace canopy {

// Insertion and removal in ascending order cost the same for any number of
// runs. Otherwise they also move the runs on one side of the number. Not
// synchronised.
class NumberRuns {
 public:
  // Inserts the numbers from `first` to `last`, none of which may be present.
  void Insert(uint64_t first, uint64_t last);
  // Has no effect if the number is absent.
  void Erase(uint64_t number);
  bool Contains(uint64_t number) const;
  // Returns the lowest number of the set above `number`, which must not be in
  // the set. Returns the highest value of the type if there is none.
  uint64_t Above(uint64_t number) const;
  bool empty() const { return runs_.empty(); }

 private:
  struct Run {
    uint64_t first;
    uint64_t last;
  };
  using Runs = std::deque<Run>;

  // Returns the first run that ends at or after the number.
  Runs::const_iterator Find(uint64_t number) const;

  Runs runs_;  // ascending, with a gap between any two
};

}  // namespace canopy

#endif  // CANOPY_COMMON_NUMBER_RUNS_H_
