#include "server/endpoint/memory_return.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdio>

// libpmix may be loaded with a C library that lacks these functions: musl, and
// glibc before 2.33.
#pragma weak mallinfo2
#pragma weak malloc_trim

namespace canopy::endpoint {
namespace {

// Returns the number of bytes of this process that are in memory; 0 if that is
// unknown.
size_t Resident() {
  FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  size_t size = 0;
  size_t resident = 0;
  const int count = std::fscanf(file, "%zu %zu", &size, &resident);
  std::fclose(file);
  return count == 2 ? resident * static_cast<size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

MemoryReturn::MemoryReturn(EventLoop* loop, const Options& options)
    : loop_(loop), options_(options), resident_(Resident()) {}

MemoryReturn::~MemoryReturn() { loop_->CancelTimer(timer_); }

void MemoryReturn::OnReleased() {
  if (timer_ != 0) return;
  busy_ = 0;
  After(options_.delay_ns, &MemoryReturn::BeginToLook);
}

void MemoryReturn::After(int64_t delay_ns, void (MemoryReturn::*step)()) {
  timer_ = loop_->AddTimer(delay_ns, [this, step] {
    timer_ = 0;
    (this->*step)();
  });
}

void MemoryReturn::BeginToLook() {
  if (!IsWorthwhile()) return;
  round_ = loop_->round();
  After(options_.calm_ns, &MemoryReturn::Look);
}

// Returns the memory if the loop is calm, because this takes a tenth of a
// millisecond for each megabyte.
void MemoryReturn::Look() {
  const bool calm = loop_->round() - round_ <= options_.calm_rounds;
  if (!calm && ++busy_ < options_.max_busy) {
    return After(options_.delay_ns, &MemoryReturn::BeginToLook);
  }
  malloc_trim(0);
  resident_ = Resident();
  ++num_returns_;
}

// Returns true if enough memory is free. Memory that was returned counts as
// free for the allocator, so the resident memory must have grown too. Returns
// false if the C library does not report its free memory.
bool MemoryReturn::IsWorthwhile() const {
  return mallinfo2 != nullptr &&
         Resident() >= resident_ + options_.worthwhile_bytes &&
         mallinfo2().fordblks >= options_.worthwhile_bytes;
}

}  // namespace canopy::endpoint
