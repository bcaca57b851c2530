// GPUs of a node, and how a process gets some of them.
#ifndef CANOPY_COMMON_GPU_H_
#define CANOPY_COMMON_GPU_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/cpuset.h"

namespace canopy {

enum class GpuKind : uint8_t { kNvidia, kAmd };
inline constexpr std::array kGpuKinds = {GpuKind::kNvidia, GpuKind::kAmd};

// Returns "nvidia" or "amd".
std::string_view ToString(GpuKind kind);

// Returns the variable that selects the GPUs that a program sees:
// CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES.
std::string_view VisibleVariable(GpuKind kind);

struct Gpu {
  GpuKind kind = GpuKind::kNvidia;
  // An entry of the value of VisibleVariable, such as "0"; without ',' and ';'.
  std::string id;
  CpuSet cpus;  // the CPUs that are near; empty: unknown
};

// Returns the name of a GPU on its node, such as "nvidia:0".
std::string GpuName(const Gpu& gpu);

// JoinGpus returns the text for GPUs of one kind, such as "nvidia:0,1", which
// is empty for no GPU. GpuNames returns the names of the single GPUs of such a
// text.
std::string JoinGpus(const std::vector<Gpu>& gpus);
std::vector<std::string> GpuNames(std::string_view joined);

// Returns the variables NAME=VALUE that make a process see the GPUs of a joined
// text and no others. Returns an empty vector if JoinGpus cannot have made the
// text.
std::vector<std::string> GpuVariables(std::string_view joined);

}  // namespace canopy

#endif  // CANOPY_COMMON_GPU_H_
