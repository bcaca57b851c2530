// Rankfiles, which name the node and the CPUs of each rank.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_RANKFILE_H_
#define CANOPY_CLIENT_CLI_OPTIONS_RANKFILE_H_

#include <map>
#include <string>

#include "common/ids.h"
#include "common/job_request.h"
#include "common/status.h"

namespace canopy::cli {

struct RankLine {
  std::string host;   // a name, or +nK for the K-th node, from 0
  std::string slots;  // as in common/request/slot_list.h
  size_t line = 0;    // in the file, from 1
};
using Rankfile = std::map<Rank, RankLine>;

// Parses lines of the form "rank N=HOST slot=SLOTS". Empty lines and lines that
// start with '#' are skipped. Returns kErrBadParam with `name` and the number
// of the line.
Result<Rankfile> ParseRankfile(const std::string& text,
                               const std::string& name);
// Reads and parses a file of at most 16 MiB.
Result<Rankfile> LoadRankfile(const std::string& path);

// Requests that the ranks of the job run on the nodes and CPUs of their lines. A job without a
// number of processes gets as many as the file has ranks. Hosts of an
// application are those that the file may name, and to which +nK refers.
// Returns kErrBadParam, with the name of the file, for a rank without a line,
// for a host that is none of them, and for placement options that contradict
// the file.
Status ApplyRankfile(const Rankfile& file, const std::string& name,
                     JobRequest* job);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_RANKFILE_H_
