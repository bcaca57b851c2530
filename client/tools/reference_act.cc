// The tools pevent, pctrl and palloc: they raise events, control jobs, and
// request allocations.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "client/cli/options/option_setters.h"
#include "client/tools/calls.h"
#include "client/tools/reference_tool.h"
#include "client/tools/reference_words.h"
#include "client/tools/server_options.h"

namespace canopy::tools {
namespace {

// ----------------------------------------------------------------- pevent ---

class Pevent : public ReferenceTool {
 public:
  cli::OptionTable Options() override {
    return {{"event", 1, "CODE", "number or name of the event",
             cli::SetText(&event_)},
            {"range", 1, "RANGE",
             "processes that are notified: local, session\n"
             "(default), global, or the number of a range",
             cli::SetText(&range_)}};
  }

  Status Check(const std::vector<std::string>& words) override {
    if (event_.empty()) return Status(kErrBadParam, "--event is not given");
    if (!range_.empty() && !ReadRange(range_, &to_)) {
      return Status(kErrBadParam, "'" + range_ + "' is no range");
    }
    return NoWords(words);
  }

  // Only the library knows the names of events.
  int Run(const std::vector<std::string>& /*words*/) override {
    pmix_status_t code = 0;
    if (!ReadEvent(event_, &code)) {
      Complain("'" + event_ + "' is no event");
      return kExitUsage;
    }
    const pmix_status_t status =
        PMIx_Notify_event(code, nullptr, to_, nullptr, 0, nullptr, nullptr);
    return status == PMIX_SUCCESS ? 0 : Fail("event", status);
  }

 private:
  std::string event_;
  std::string range_;
  pmix_data_range_t to_ = PMIX_RANGE_SESSION;
};

// ------------------------------------------------------------------ pctrl ---

class Pctrl : public ReferenceTool {
 public:
  cli::OptionTable Options() override {
    return {
        {"targets", 1, "NSPACE:RANK,...",
         "processes to control; the rank * means all", cli::SetText(&targets_)},
        {"request-id", 1, "NAME", "name of this request",
         Text(PMIX_JOB_CTRL_ID, false)},
        {"pause", 0, "", "stop the processes", Flag(PMIX_JOB_CTRL_PAUSE)},
        {"resume", 0, "", "continue the processes", Flag(PMIX_JOB_CTRL_RESUME)},
        {"kill", 0, "", "kill the processes", Flag(PMIX_JOB_CTRL_KILL)},
        {"terminate", 0, "", "terminate the processes",
         Flag(PMIX_JOB_CTRL_TERMINATE)},
        {"signal", 1, "SIGNAL", "send this signal to the processes", Signal()},
        {"cancel", 1, "NAME", "cancel this request, or all own requests",
         Text(PMIX_JOB_CTRL_CANCEL)},
        {"restart", 1, "NAME", "restart the processes from this checkpoint",
         Text(PMIX_JOB_CTRL_RESTART)},
        {"checkpoint", 1, "NAME", "create a checkpoint of the processes",
         Text(PMIX_JOB_CTRL_CHECKPOINT)},
        {"pset", 1, "NAME", "create a process set of the processes",
         Text(PMIX_JOB_CTRL_DEFINE_PSET)},
    };
  }

  Status Check(const std::vector<std::string>& words) override {
    if (actions_ != 1) {
      return Status(kErrBadParam, "name exactly one action");
    }
    const auto targets = ReadTargets(targets_);
    if (!targets) {
      return Status(kErrBadParam, "--targets needs NSPACE:RANK,...");
    }
    for (const auto& [nspace, rank] : *targets) {
      pmix_proc_t& proc = procs_.emplace_back();
      PMIX_PROC_LOAD(&proc, nspace.c_str(),
                     rank == UINT32_MAX ? PMIX_RANK_WILDCARD : rank);
    }
    return NoWords(words);
  }

  int Run(const std::vector<std::string>& /*words*/) override {
    directives_.RequireAll();
    Answers results;
    const pmix_status_t status =
        PMIx_Job_control(procs_.data(), procs_.size(), directives_.data(),
                         directives_.size(), &results.infos, &results.count);
    return status == PMIX_SUCCESS ? 0 : Fail("job control", status);
  }

 private:
  cli::Option::Apply Flag(const char* key) {
    return [this, key](const cli::TypedOption&) {
      ++actions_;
      directives_.AddFlag(key);
      return Status();
    };
  }
  cli::Option::Apply Text(const char* key, bool acts = true) {
    return [this, key, acts](const cli::TypedOption& typed) {
      actions_ += acts ? 1 : 0;
      directives_.AddText(key, typed.values[0]);
      return Status();
    };
  }
  cli::Option::Apply Signal() {
    return [this](const cli::TypedOption& typed) {
      const auto signal = ReadSignal(typed.values[0]);
      if (!signal) return cli::WrongValue(typed, "a signal");
      ++actions_;
      directives_.Add(PMIX_JOB_CTRL_SIGNAL, &*signal, PMIX_INT);
      return Status();
    };
  }

  std::string targets_;
  int actions_ = 0;
  Infos directives_;
  std::vector<pmix_proc_t> procs_;
};

// ----------------------------------------------------------------- palloc ---

class Palloc : public ReferenceTool {
 public:
  cli::OptionTable Options() override {
    constexpr char kOwnUser[] = "the user is who calls";
    return {
        {"request-id", 1, "NAME", "name of this request",
         Text(PMIX_ALLOC_REQ_ID)},
        {"queue q", 1, "NAME", "queue of the scheduler",
         Text(PMIX_ALLOC_QUEUE)},
        {"nodes N", 1, "N", "number of nodes", Number(PMIX_ALLOC_NUM_NODES)},
        {"nodelist w", 1, "NODES", "nodes to allocate",
         Text(PMIX_ALLOC_NODE_LIST)},
        {"exclude x", 1, "NODES", "nodes to exclude", Text(PMIX_ALLOC_EXCLUDE)},
        {"image i", 1, "NAME", "image that the nodes must run",
         Text(PMIX_ALLOC_IMAGE)},
        {"time t", 1, "TIME", "duration: [[[[MO:]D:]H:]M:]S", Time()},
        {"begin", 1, "TIME", "earliest time at which the allocation begins",
         Text(PMIX_ALLOC_BEGIN)},
        {"dependency d", 1, "IDS", "begin after these allocations have ended",
         Text(PMIX_ALLOC_DEPENDENCY)},
        {"share s", 0, "", "allow other jobs on the nodes",
         Flag(PMIX_ALLOC_SHARE)},
        {"wait-all-nodes", 0, "", "begin when all nodes are ready",
         Flag(PMIX_ALLOC_WAIT_ALL_NODES)},
        {"do-not-wait", 0, "", "do not wait until the allocation is granted",
         Flag(PMIX_ALLOC_NOT_WAITING)},
        {"no-shell", 0, "", "run no command in the allocation",
         Flag(PMIX_ALLOC_NOSHELL)},
        {"extend", 1, "ID", "extend this allocation",
         Change(PMIX_ALLOC_EXTEND)},
        {"shrink", 1, "ID", "release resources of this allocation",
         Change(PMIX_ALLOC_RELEASE)},
        Refused("uid", 1, kOwnUser),
        Refused("gid", 1, kOwnUser),
        Refused("signal", 1, "ask for it with the job's time limit"),
        Refused("immediate I", 1, "see --do-not-wait"),
        Refused("activate", 1, "an overlay has an agent on each node"),
    };
  }

  Status Check(const std::vector<std::string>& words) override {
    if (!words.empty()) {
      return Status(kErrNotSupported,
                    "'" + words[0] +
                        "': programs are run by 'canopy run', in the "
                        "allocation that was granted");
    }
    if (infos_.size() == 0) {
      return Status(kErrBadParam, "nothing is asked for");
    }
    return Status();
  }

  int Run(const std::vector<std::string>& /*words*/) override {
    infos_.RequireAll();
    Answers results;
    const pmix_status_t status =
        PMIx_Allocation_request(directive_, infos_.data(), infos_.size(),
                                &results.infos, &results.count);
    for (size_t i = 0; i < results.count; ++i) {
      printf("%s: %s\n", NameOf(results.infos[i].key).c_str(),
             TextOf(results.infos[i].value).c_str());
    }
    return status == PMIX_SUCCESS ? 0 : Fail("allocation", status);
  }

 private:
  cli::Option::Apply Flag(const char* key) {
    return [this, key](const cli::TypedOption&) {
      infos_.AddFlag(key);
      return Status();
    };
  }
  cli::Option::Apply Text(const char* key) {
    return [this, key](const cli::TypedOption& typed) {
      infos_.AddText(key, typed.values[0]);
      return Status();
    };
  }
  cli::Option::Apply Number(const char* key) {
    return [this, key](const cli::TypedOption& typed) {
      uint32_t number = 0;
      const Status status = cli::SetNumber(&number, 1, UINT32_MAX)(typed);
      const uint64_t value = number;
      if (status.ok()) infos_.Add(key, &value, PMIX_UINT64);
      return status;
    };
  }
  cli::Option::Apply Time() {
    return [this](const cli::TypedOption& typed) {
      const auto seconds = ReadDuration(typed.values[0]);
      if (!seconds) return cli::WrongValue(typed, "a time such as 1:30:00");
      infos_.Add(PMIX_ALLOC_TIME, &*seconds, PMIX_UINT32);
      return Status();
    };
  }
  cli::Option::Apply Change(pmix_alloc_directive_t directive) {
    return [this, directive](const cli::TypedOption& typed) {
      directive_ = directive;
      infos_.AddText(PMIX_ALLOC_ID, typed.values[0]);
      return Status();
    };
  }

  pmix_alloc_directive_t directive_ = PMIX_ALLOC_NEW;
  Infos infos_;
};

}  // namespace

std::unique_ptr<ReferenceTool> MakePevent() {
  return std::make_unique<Pevent>();
}
std::unique_ptr<ReferenceTool> MakePctrl() { return std::make_unique<Pctrl>(); }
std::unique_ptr<ReferenceTool> MakePalloc() {
  return std::make_unique<Palloc>();
}

}  // namespace canopy::tools
