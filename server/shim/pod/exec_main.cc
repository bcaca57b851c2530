// canopy-exec, the entry process of a container whose processes are ranks of a
// job (docs/kubernetes.md). It is the job's shim in its pod.
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "common/version.h"
#include "server/shim/job_holder.h"
#include "server/shim/pod/pod_job.h"
#include "server/shim/pod/pod_join.h"
#include "server/shim/pod/pod_output.h"
#include "server/shim/pod/pod_paths.h"

extern char** environ;

namespace canopy::process {
namespace {

constexpr char kUsage[] =
    "Usage: canopy-exec [OPTION]... -- PROGRAM [ARGUMENT]...\n"
    "\n"
    "Starts the ranks of a Kubernetes container that requests "
    "canopy.dev/rank,\n"
    "as processes of PROGRAM, and ends with the exit code of the first rank\n"
    "that fails.\n"
    "\n"
    "  --plain         does not put \"[RANK] \" before the lines of several\n"
    "                  ranks\n"
    "  --program PATH  executes PATH; PROGRAM is only its name for itself\n"
    "  --help          prints this text\n"
    "  --version       prints the version\n"
    "\n"
    "Exit codes: 64 if the pod cannot take part in a job, 75 if it may work\n"
    "when the pod is tried again.\n";

struct Options {
  bool plain = false;
  std::string program;
  std::vector<std::string> argv;
  std::string run_directory = kPodRunDirectory;
  std::string files_directory = kPodFilesDirectory;
};

// Returns the exit code if the arguments are not those of a start.
std::optional<int> Parse(int argc, char** argv, Options* options) {
  int i = 1;
  for (; i < argc; ++i) {
    const std::string_view arg = argv[i];
    if (arg == "--") {
      ++i;
      break;
    }
    if (arg == "--help") return fputs(kUsage, stdout) < 0 ? 1 : 0;
    if (arg == "--version") return printf("canopy-exec %s\n", kVersion) < 0;
    if (arg == "--plain") {
      options->plain = true;
    } else if (arg == "--program" && i + 1 < argc) {
      options->program = argv[++i];
    } else if (arg.starts_with('-')) {
      fprintf(stderr, "canopy-exec: unknown option '%s'\n%s", argv[i], kUsage);
      return kPodUsageExit;
    } else {
      break;
    }
  }
  options->argv.assign(argv + i, argv + argc);
  if (options->argv.empty()) {
    fprintf(stderr, "canopy-exec: no program is named\n%s", kUsage);
    return kPodUsageExit;
  }
  if (options->program.empty()) options->program = options->argv[0];
  return std::nullopt;
}

PodContainer ContainerOf(const Options& options) {
  PodContainer container;
  container.program = options.program;
  container.argv = options.argv;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    container.env.emplace_back(*entry);
  }
  container.run_directory = options.run_directory;
  container.files_directory = options.files_directory;
  return container;
}

// A first process of a container ignores signals without a handler, so all that
// are to have an effect come through the returned descriptor.
int TakeSignals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1,
                           SIGUSR2, SIGCONT, SIGWINCH}) {
    sigaddset(&wanted, number);
  }
  sigset_t blocked = wanted;
  sigaddset(&blocked, SIGPIPE);
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
  return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

// Raises the soft limit of this process, and returns the former limit, which
// the ranks get.
rlimit RaiseFileLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  rlimit raised = limit;
  raised.rlim_cur = raised.rlim_max;
  setrlimit(RLIMIT_NOFILE, &raised);
  return limit;
}

int CodeOf(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status)
                                  : WEXITSTATUS(wait_status);
}

// The job in this container, from its description to the end of its ranks.
class PodJob {
 public:
  PodJob(const Options& options, int signals, UniqueFd connection)
      : container_(ContainerOf(options)),
        output_(STDOUT_FILENO, STDERR_FILENO, Marks(options),
                [this](uint64_t bytes) {
                  loop_.Post([this, bytes] { holder_.OnOutputTaken(bytes); });
                }),
        holder_(&loop_, {std::move(connection), UniqueFd(), SocketFile()},
                RaiseFileLimit(), Hooks()) {
    loop_.Watch(signals, EPOLLIN,
                [this, signals](uint32_t) { OnSignals(signals); });
  }

  // Returns the exit code of the container.
  int Run() {
    loop_.Run();
    if (ended_ > 0) return code_;
    fputs("canopy-exec: the job was not started\n", stderr);
    return kPodRetryExit;
  }

 private:
  static bool Marks(const Options& options) {
    const char* const ranks = getenv(kPodRanksVariable);
    return !options.plain && ranks != nullptr && atoi(ranks) > 1;
  }

  JobHolder::Hooks Hooks() {
    JobHolder::Hooks hooks;
    hooks.adapt = [this](PrepareJob* job) {
      AdaptToContainer(container_, job);
    };
    hooks.output = [this](Rank rank, uint16_t channel, const Bytes& data) {
      output_.Put(rank, channel, data.view());
    };
    hooks.ended = [this](Rank, int wait_status) {
      ++ended_;
      if (code_ == 0) code_ = CodeOf(wait_status);
    };
    hooks.lost = [] {
      fputs("canopy-exec: the agent of this node is gone, so the job ends\n",
            stderr);
    };
    return hooks;
  }

  void OnSignals(int signals) {
    signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == sizeof info) {
      const int number = static_cast<int>(info.ssi_signo);
      if (number == SIGCHLD) {
        holder_.OnChildSignal();
      } else {
        holder_.ForwardSignal(number);
      }
    }
  }

  const PodContainer container_;
  int code_ = 0;
  size_t ended_ = 0;
  EventLoop loop_;
  PodOutput output_;
  JobHolder holder_;
};

int Start(const Options& options) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const UniqueFd signals(TakeSignals());
  PodJoinOptions join;
  join.socket = options.run_directory + "/" + kPodShimSocket;
  join.join.argv = options.argv;
  join.signals = signals.get();
  PodJoined joined = JoinAgent(join);
  if (!joined.connection) return joined.exit_code;
  return PodJob(options, signals.get(), std::move(joined.connection)).Run();
}

}  // namespace
}  // namespace canopy::process

int main(int argc, char** argv) {
  canopy::process::Options options;
  const std::optional<int> done = canopy::process::Parse(argc, argv, &options);
  return done ? *done : canopy::process::Start(options);
}
