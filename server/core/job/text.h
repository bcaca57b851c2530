// One-line sentences about a job's processes, for people.
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
// gives no such value. Its end is no failure of its own: what kept it from
// starting is reported as a NodeError.
inline constexpr int kNeverStarted = -1;

// What a shell would give: the exit code, or 128 + signal. 0 for a rank that
// was never started.
int ExitCodeOf(const ProcExit& exit);

// True for a nonzero exit code, a signal, or an end without finalize after the
// process had connected to its agent.
bool IsAbnormal(const ProcExit& exit);

// "signal 11 (Segmentation fault)".
std::string DescribeSignal(int signal);

// "rank 3 on node2 was killed by signal 11 (Segmentation fault), core dumped".
// The rank must be one of the job's.
std::string DescribeExit(const JobSpec& job, const ProcExit& exit);

// "rank 3", "ranks 0-3,7"; at most a few runs, then "and N more". `ranks` is
// ascending and not empty.
std::string DescribeRanks(std::span<const Rank> ranks);

// "1 node", "2 nodes".
std::string Plural(size_t n, std::string_view one, std::string_view many);

// The error with its node's name: "node2: cannot find ...", and how many other
// nodes reported errors.
std::string DescribeNodeError(const NodeError& error,
                              std::string_view node_name, size_t others);

// Control characters become spaces and long text is cut, so that a message
// from a process stays one line.
std::string OneLine(std::string_view text);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_TEXT_H_
