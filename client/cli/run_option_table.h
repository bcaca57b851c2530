// Every spelling that `canopy run` understands.
#ifndef CANOPY_CLIENT_CLI_RUN_OPTION_TABLE_H_
#define CANOPY_CLIENT_CLI_RUN_OPTION_TABLE_H_

#include <span>

#include "client/cli/option_parser.h"

namespace canopy::cli {

enum RunOptionId : int {
  kRunCount,
  kRunHost,
  kRunHostfile,
  kRunNodes,
  kRunMapBy,
  kRunRankBy,
  kRunBindTo,
  kRunPerNode,
  kRunOnePerNode,
  kRunPerSocket,
  kRunCpusPerProc,
  kRunByNode,
  kRunBySlot,
  kRunByCore,
  kRunBindCore,
  kRunBindSocket,
  kRunBindNone,
  kRunOversubscribe,
  kRunNoOversubscribe,
  kRunNoLocal,
  kRunReportBindings,
  kRunDisplay,
  kRunDisplayMap,
  kRunDisplayAllocation,
  kRunDoNotLaunch,
  kRunExport,
  kRunGlobalEnv,
  kRunAppEnv,
  kRunMca,
  kRunGlobalMca,
  kRunPmixMca,
  kRunPrteMca,
  kRunWdir,
  kRunPath,
  kRunPrefix,
  kRunApp,
  kRunStdin,
  kRunTag,
  kRunTimestamp,
  kRunOutputFilename,
  kRunOutput,
  kRunMerge,
  kRunTimeout,
  kRunKillGrace,
  kRunInject,
  kRunAllowRoot,
  kRunContext,
  kRunLaunchAgent,
  kRunRadix,
  kRunFormat,
  kRunVerbose,
  kRunQuiet,
  kRunVersion,
  kRunHelp,
};

std::span<const OptionSpec> RunOptionTable();

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_OPTION_TABLE_H_
