// Commands of `canopy` that need the agent of this machine. Each is called with
// a connection. Its words are arguments by position, and it returns the exit
// code. With Format::kJson, it prints a document of docs/json.md.
#ifndef CANOPY_CLIENT_TOOLS_COMMANDS_H_
#define CANOPY_CLIENT_TOOLS_COMMANDS_H_

#include <span>
#include <string>
#include <vector>

namespace canopy::tools {

using Words = std::span<const std::string>;
enum class Format { kText, kJson };

// NSPACE...: prints the processes of these jobs, with their states.
int Procs(Words words, Format format);
// NSPACE: prints the processes of one job in a form for programs, by rank: RANK
// TAB PID TAB HOST TAB PROGRAM.
int Table(Words words, Format format);
// NAME...: prints the resources that the nodes of these names use, and those
// that the processes of all jobs use. Prints a document for either Format.
int Usage(Words words, Format format);
// NSPACE RANK KEY...: queries the keys. NSPACE and RANK may be empty.
int Query(Words words, Format format);
// NSPACE RANK CODE TEXT: raises an event. All words but CODE may be empty.
int Event(Words words, Format format);
// NSPACE RANKS FLAGS: prints the output of the job, or of these ranks ("0,2-5";
// empty: all). FLAGS are letters: f follows the output, n omits earlier output,
// t tags lines, s adds time stamps.
int Output(Words words, Format format);
// NSPACE RANKS FLAGS STDIN KEY: does the same as Output, and forwards standard
// input to a rank, to "all" or to "none". An empty STDIN means the ranks that
// read the job's input. When KEY, such as "ctrl-]", is typed, the command
// detaches from the job: it ends, and the job continues.
int Attach(Words words, Format format);
// ORDERS MODE: connects a launcher to the tool that has started it, whose
// directives ORDERS holds (client/tool/launcher_orders.h). Prints the options
// of `canopy run` for the launcher's job, each followed by a NUL, once the tool
// releases the job. MODE "serve": the launcher has no job, and notifies the
// tool that it is ready. MODE "run": the launcher has a job.
int Launch(Words words, Format format);
// Sets up the environment for Launch; called before this process connects as a
// tool.
void PrepareLaunch(const std::string& orders);
// RANGE PERSISTENCE (KEY VALUE)...: publishes the pairs of keys and values.
int Publish(Words words, Format format);
// RANGE WAITS TIMEOUT KEY...: looks the keys up. With an empty WAITS the
// command does not wait, and with an empty TIMEOUT there is no time limit.
int Lookup(Words words, Format format);
// RANGE KEY...: unpublishes the keys.
int Unpublish(Words words, Format format);

// Prints the processes of these jobs as a table.
int PrintProcesses(Words nspaces);

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_COMMANDS_H_
