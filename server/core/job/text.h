// One-line texts about a job's processes, for people.
#ifndef CANOPY_SERVER_CORE_JOB_TEXT_H_
#define CANOPY_SERVER_CORE_JOB_TEXT_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/job.h"
#include "server/core/messages.h"

namespace canopy::core {

// Wait status of a rank that was mapped but never became a process; waitpid
// never returns this value. Its end is not a failure of its own: the cause is
// reported as a NodeError.
inline constexpr int kNeverStarted = -1;

// Returns the exit code that a shell would report: that of the process, or 128
// + signal. Returns 0 for a rank that was never started.
int ExitCodeOf(const ProcExit& exit);

// Returns true for a nonzero exit code, a signal, or an end without finalize
// after the process had connected to its agent.
bool IsAbnormal(const ProcExit& exit);

// Returns, for example, "signal 11 (Segmentation fault)".
std::string DescribeSignal(int signal);

// Returns, for example, "rank 3 on node2 was killed by signal 11 (Segmentation
// fault), core dumped". The rank must be a rank of the job.
std::string DescribeExit(const JobSpec& job, const ProcExit& exit);

// Returns, for example, "rank 3" or "ranks 0-3,7": at most a few runs, then
// "and N more". `ranks` is ascending and not empty.
std::string DescribeRanks(std::span<const Rank> ranks);

// Returns, for example, "1 node" or "2 nodes".
std::string Plural(size_t n, std::string_view one, std::string_view many);

// Returns the error with its node's name, such as "node2: cannot find ...", and
// the number of other nodes that reported errors.
std::string DescribeNodeError(const NodeError& error,
                              std::string_view node_name, size_t others);

// Replaces control characters by spaces and cuts long text, so that a message
// from a process stays one line.
std::string OneLine(std::string_view text);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_TEXT_H_
