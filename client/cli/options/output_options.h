// Options of `canopy run` whose value is a list of words: the displayed
// information and the destination of the output.
#ifndef CANOPY_CLIENT_CLI_OPTIONS_OUTPUT_OPTIONS_H_
#define CANOPY_CLIENT_CLI_OPTIONS_OUTPUT_OPTIONS_H_

#include "client/cli/options/option_parser.h"
#include "client/cli/options/run_options.h"

namespace canopy::cli {

// `to` must outlive the results.

// Accepts the information to display, separated by commas: "map", "allocation"
// (or "alloc"), "bindings" (or "bind") and "topo" (or "topology").
Option::Apply SetDisplay(RunOptions* to);
// Accepts the properties of the output, separated by commas: "tag",
// "timestamp", "xml", "merge", "dir=DIR" and "file=FILE".
Option::Apply SetOutput(RunOptions* to);
// Accepts the directory of the output: DIR, DIR:nocopy, DIR:nojobid and
// DIR:nocopy,nojobid.
Option::Apply SetOutputDirectory(RunOptions* to);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_OPTIONS_OUTPUT_OPTIONS_H_
