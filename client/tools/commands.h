// What commands of `canopy` ask of the agent of this machine: each is called
// with a connection, gets the words that it is started with, in their places,
// and returns the exit code.
#ifndef CANOPY_CLIENT_TOOLS_COMMANDS_H_
#define CANOPY_CLIENT_TOOLS_COMMANDS_H_

#include <span>
#include <string>
#include <vector>

namespace canopy::tools {

using Words = std::span<const std::string>;

// NSPACE...: prints the processes of these jobs.
int Procs(Words words);
// NSPACE: the same of one job, in a form to be read: RANK TAB PID TAB HOST TAB
// PROGRAM, by rank.
int Table(Words words);
// NSPACE RANK KEY...; NSPACE may be empty, RANK too.
int Query(Words words);
// NSPACE RANK CODE TEXT; any but CODE may be empty.
int Event(Words words);
// NSPACE RANKS FLAGS: prints the output of the job, or of those ranks ("0,2-5";
// empty: all). FLAGS are letters: f follow it, n from now on, t tagged, s with
// time stamps.
int Output(Words words);
// The same with STDIN KEY behind it: gives the job our input, too, for a rank,
// "all" or "none" (empty: whoever reads the job's), until KEY, such as
// "ctrl-]", is typed.
int Attach(Words words);
// ORDERS MODE: of a launcher whose orders (client/tool/launcher_orders.h) these
// are, under its name: prints the options of `canopy run` that it is to launch
// its job with, each with a NUL behind it, once the tool lets it. MODE "serve":
// it has no job, and tells the tool that it is ready; else "run".
int Launch(Words words);
// Before this process is a tool.
void PrepareLaunch(const std::string& orders);
// RANGE PERSISTENCE (KEY VALUE)...
int Publish(Words words);
// RANGE WAITS TIMEOUT KEY...; WAITS empty: it does not, TIMEOUT empty: none.
int Lookup(Words words);
// RANGE KEY...
int Unpublish(Words words);

// The processes of these jobs as a table.
int PrintProcesses(Words nspaces);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_COMMANDS_H_
