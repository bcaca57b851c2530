// The commands output and attach: they print the output of a running job, and
// attach also sends it input.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string_view>
#include <thread>
#include <utility>

#include "client/cli/base/file_util.h"
#include "client/cli/base/json.h"
#include "client/cli/options/option_setters.h"
#include "client/cli/run/job_output.h"
#include "client/tools/calls.h"
#include "client/tools/commands.h"
#include "client/tools/job_end.h"
#include "client/tools/typed_input.h"
#include "common/mutex.h"
#include "common/string_util.h"

namespace canopy::tools {
namespace {

// The agent keeps this much output while the reader of this process is slow.
constexpr uint32_t kCacheSize = 16 << 20;
// Canopy's own directives and infos (docs/design/output_forwarding.md).
constexpr char kFromNow[] = "canopy.iof.from_now";
constexpr char kOnlyCached[] = "canopy.iof.only_cached";
constexpr char kDropped[] = "canopy.iof.dropped";
constexpr char kStatus[] = "canopy.iof.status";

struct Wanted {
  std::string nspace;
  std::vector<uint32_t> ranks;  // empty: all ranks
  bool follows = false;
  bool from_now = false;
  bool tags = false;
  bool stamps = false;
  bool json = false;
};

bool ReadWanted(Words words, Wanted* out) {
  out->nspace = words[0];
  if (!words[1].empty()) {
    const auto set = cli::SetRanks(&out->ranks);
    if (!set({"--rank", {words[1]}}).ok()) return false;
  }
  for (const char letter : words[2]) {
    if (letter == 'f') out->follows = true;
    if (letter == 'n') out->from_now = true;
    if (letter == 't') out->tags = true;
    if (letter == 's') out->stamps = true;
  }
  return true;
}

// Prints each line of output as a document on a line of its own.
class JsonLines {
 public:
  explicit JsonLines(std::string nspace) : nspace_(std::move(nspace)) {}

  // Empty data ends the stream. Returns false if the document cannot be
  // written.
  bool Add(pmix_rank_t rank, uint32_t channel, std::string_view data) {
    std::string& held = held_[{rank, channel}];
    held += data;
    size_t begin = 0;
    for (size_t end = 0; (end = held.find('\n', begin)) != std::string::npos;) {
      if (!Print(rank, channel, held.substr(begin, end - begin))) return false;
      begin = end + 1;
    }
    held.erase(0, begin);
    if (!data.empty() || held.empty()) return true;
    return Print(rank, channel, std::exchange(held, ""));
  }
  // Prints the lines whose end has not arrived.
  bool Flush() {
    for (auto& [key, text] : held_) {
      if (text.empty()) continue;
      if (!Print(key.first, key.second, std::exchange(text, ""))) return false;
    }
    return true;
  }

 private:
  bool Print(pmix_rank_t rank, uint32_t channel, const std::string& line) {
    cli::Json document;
    document["job"] = nspace_;
    document["rank"] = rank;
    document["stream"] = channel == cli::kStderrChannel ? "stderr" : "stdout";
    document["line"] = line;
    return cli::WriteAll(STDOUT_FILENO, cli::LineText(document));
  }

  const std::string nspace_;
  std::map<std::pair<pmix_rank_t, uint32_t>, std::string> held_;
};

// Writes the output that the library's thread delivers to standard output and
// standard error, and notifies the main thread when it is complete.
class Shown {
 public:
  explicit Shown(const Wanted& wanted)
      : output_(Options(wanted)), json_(wanted.json), lines_(wanted.nspace) {
    (void)output_.SetJob(wanted.nspace,
                         static_cast<uint32_t>(wanted.ranks.size()));
  }

  void Add(const pmix_proc_t& source, pmix_iof_channel_t channel,
           const pmix_byte_object_t& bytes,
           std::span<const pmix_info_t> infos) {
    const MutexLock lock(mu_);
    if (over_) return;
    bool closed = false;
    for (const pmix_info_t& info : infos) {
      if (PMIX_CHECK_KEY(&info, PMIX_IOF_COMPLETE)) closed = true;
      if (PMIX_CHECK_KEY(&info, kDropped)) dropped_ += info.value.data.uint64;
      if (PMIX_CHECK_KEY(&info, kStatus)) failure_ = info.value.data.status;
    }
    if (closed && source.rank == PMIX_RANK_WILDCARD) {
      Finish();
    } else if (!Write(source.rank, channel, {bytes.bytes, bytes.size}) ||
               (closed && !Write(source.rank, channel, {}))) {
      Finish();
    }
  }

  // Stops the output because the user has detached.
  void Detach() {
    const MutexLock lock(mu_);
    detached_ = true;
    Finish();
  }
  bool detached() {
    const MutexLock lock(mu_);
    return detached_;
  }

  // Waits for the end of the output. Writes unfinished lines meanwhile. Returns
  // false if the reader of this process's output is gone.
  bool Await() {
    const MutexLock lock(mu_);
    while (!over_) {
      const int tick = output_.Tick();
      const auto wait = std::chrono::milliseconds(tick < 0 ? kIdleMs : tick);
      changed_.WaitUntil(mu_, std::chrono::steady_clock::now() + wait);
    }
    return output_.Flush() && lines_.Flush() && !no_reader_;
  }

  uint64_t dropped() {
    const MutexLock lock(mu_);
    return dropped_;
  }
  // Returns why the output is incomplete.
  pmix_status_t failure() {
    const MutexLock lock(mu_);
    return failure_;
  }

 private:
  static constexpr int kIdleMs = 100;

  static cli::JobOutputOptions Options(const Wanted& wanted) {
    cli::JobOutputOptions options;
    options.tag = wanted.tags;
    options.timestamp = wanted.stamps;
    return options;
  }

  bool Write(pmix_rank_t rank, pmix_iof_channel_t channel,
             std::string_view data) CANOPY_REQUIRES(mu_) {
    // Empty data means the end of the stream here.
    const uint32_t to = channel == PMIX_FWD_STDERR_CHANNEL
                            ? cli::kStderrChannel
                            : cli::kStdoutChannel;
    const bool written =
        json_ ? lines_.Add(rank, to, data) : output_.Write(0, rank, to, data);
    if (written) return true;
    no_reader_ = true;
    return false;
  }

  void Finish() CANOPY_REQUIRES(mu_) {
    over_ = true;
    changed_.NotifyAll();
  }

  Mutex mu_;
  CondVar changed_;
  cli::JobOutput output_ CANOPY_GUARDED_BY(mu_);
  const bool json_;
  JsonLines lines_ CANOPY_GUARDED_BY(mu_);
  uint64_t dropped_ CANOPY_GUARDED_BY(mu_) = 0;
  pmix_status_t failure_ CANOPY_GUARDED_BY(mu_) = PMIX_SUCCESS;
  bool no_reader_ CANOPY_GUARDED_BY(mu_) = false;
  bool over_ CANOPY_GUARDED_BY(mu_) = false;
  bool detached_ CANOPY_GUARDED_BY(mu_) = false;
};

// The callback has no argument for user data. The object is never destroyed,
// because the callback may be called until the library is finalized.
Shown* g_shown = nullptr;

void OnOutput(size_t /*handle*/, pmix_iof_channel_t channel,
              pmix_proc_t* source, pmix_byte_object_t* bytes,
              pmix_info_t* infos, size_t count) {
  g_shown->Add(*source, channel, *bytes, {infos, count});
}

std::vector<pmix_proc_t> Sources(const Wanted& wanted) {
  std::vector<pmix_rank_t> ranks(wanted.ranks.begin(), wanted.ranks.end());
  if (ranks.empty()) ranks.push_back(PMIX_RANK_WILDCARD);
  std::vector<pmix_proc_t> out(ranks.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    PMIX_PROC_LOAD(&out[i], wanted.nspace.c_str(), ranks[i]);
  }
  return out;
}

// Returns the puller's number, or a negative status.
pmix_status_t Pull(const Wanted& wanted) {
  Infos directives;
  directives.AddFlag(PMIX_IOF_COPY);
  directives.Add(PMIX_IOF_CACHE_SIZE, &kCacheSize, PMIX_UINT32);
  if (wanted.from_now) directives.AddFlag(kFromNow);
  if (!wanted.follows) directives.AddFlag(kOnlyCached);
  directives.RequireAll();
  const std::vector<pmix_proc_t> sources = Sources(wanted);
  return PMIx_IOF_pull(sources.data(), sources.size(), directives.data(),
                       directives.size(),
                       PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL,
                       OnOutput, nullptr, nullptr);
}

int PullFailed(const Wanted& wanted, pmix_status_t status) {
  if (status == PMIX_ERR_NOT_SUPPORTED) {
    Complain("the output of " + wanted.nspace + " cannot be forwarded");
    return kExitFailure;
  }
  return Fail("output of " + wanted.nspace, status);
}

// Waits until all output has been shown. Returns false if the reader of this
// process's output is gone.
bool AwaitOutput() {
  const bool read = g_shown->Await();
  if (const uint64_t dropped = g_shown->dropped(); dropped > 0) {
    Complain(std::to_string(dropped) +
             " bytes of output are missing: they came before, or faster than "
             "they were read");
  }
  return read;
}

int Conclude(const std::string& nspace) {
  if (!AwaitOutput()) return kExitFailure;
  const pmix_status_t status = g_shown->failure();
  return status == PMIX_SUCCESS
             ? 0
             : Fail("what follows of the output of " + nspace, status);
}

// Returns the job's exit code. The job may continue after the ranks that were
// shown have ended.
int ConcludeAsTheJob(const std::string& nspace) {
  if (!AwaitOutput()) return kExitFailure;
  if (g_shown->detached()) return 0;
  for (bool is_over = false;;) {
    if (const auto code = AwaitEnd(std::chrono::seconds(1))) return *code;
    if (is_over) break;
    std::vector<std::string> names;
    const pmix_status_t status = Namespaces(&names);
    if (status != PMIX_SUCCESS) return Fail("the agent is gone", status);
    is_over = std::ranges::find(names, nspace) == names.end();
  }
  Complain(nspace + " is over, and its exit code is not known");
  return kExitFailure;
}

// ------------------------------------------------------------------ input ---

// Pushes input to one rank or to all. Without a target it tries rank 0, then
// all ranks, and keeps the target that the job allows.
class Pusher {
 public:
  Pusher(std::string nspace, const std::string& to)
      : nspace_(std::move(nspace)) {
    if (to == "all") {
      ranks_ = {PMIX_RANK_WILDCARD};
    } else if (!to.empty()) {
      ranks_ = {ParseNumber(to).value_or(0)};
    } else {
      ranks_ = {0, PMIX_RANK_WILDCARD};
    }
  }

  // Empty bytes end the input.
  pmix_status_t Push(std::string bytes) {
    pmix_status_t status = PushTo(ranks_.front(), &bytes);
    while (status == PMIX_ERR_NOT_SUPPORTED && ranks_.size() > 1) {
      ranks_.erase(ranks_.begin());
      status = PushTo(ranks_.front(), &bytes);
    }
    ranks_.resize(1);
    return status;
  }

 private:
  pmix_status_t PushTo(pmix_rank_t rank, std::string* bytes) {
    Infos directives;
    if (bytes->empty()) directives.AddFlag(PMIX_IOF_COMPLETE);
    pmix_proc_t target;
    PMIX_PROC_LOAD(&target, nspace_.c_str(), rank);
    pmix_byte_object_t object{bytes->data(), bytes->size()};
    return PMIx_IOF_push(&target, 1, &object, directives.data(),
                         directives.size(), nullptr, nullptr);
  }

  const std::string nspace_;
  std::vector<pmix_rank_t> ranks_;  // tried in order until one is accepted
};

// Runs on a thread that is not joined.
void Type(Pusher pusher, TypedInput* input, const std::string& nspace) {
  for (;;) {
    TypedPiece piece = input->Read();
    pmix_status_t status = PMIX_SUCCESS;
    if (!piece.bytes.empty()) status = pusher.Push(piece.bytes);
    if (status == PMIX_SUCCESS && piece.ends) status = pusher.Push("");
    if (status == PMIX_ERR_NOT_SUPPORTED) {
      Complain(nspace +
               " takes no input from here: start it with 'canopy run --detach "
               "--stdin RANK'");
    } else if (status == PMIX_ERR_IOF_COMPLETE) {
      Complain("the input of " + nspace + " has ended");
    } else if (status != PMIX_SUCCESS) {
      (void)Fail("input for " + nspace, status);
    }
    if (piece.detaches) {
      Complain("detached from " + nspace + ", which continues");
      return g_shown->Detach();
    }
    if (status != PMIX_SUCCESS || piece.ends) break;
  }
  // The output continues until it ends or the user types the key to detach.
  if (!input->AwaitKey()) return;
  Complain("detached from " + nspace + ", which continues");
  g_shown->Detach();
}

}  // namespace

int Output(Words words, Format format) {
  Wanted wanted;
  wanted.json = format == Format::kJson;
  if (!ReadWanted(words, &wanted)) return kExitUsage;
  g_shown = new Shown(wanted);
  const pmix_status_t puller = Pull(wanted);
  return puller < 0 ? PullFailed(wanted, puller) : Conclude(wanted.nspace);
}

int Attach(Words words, Format /*format*/) {
  Wanted wanted;
  if (!ReadWanted(words, &wanted)) return kExitUsage;
  const char key = ControlCharacter(words[4]);
  if (key == 0) {
    Complain("'" + words[4] + "' is no control character such as ctrl-]");
    return kExitUsage;
  }
  g_shown = new Shown(wanted);
  if (const pmix_status_t status = WatchEnd(wanted.nspace);
      status != PMIX_SUCCESS) {
    return Fail("the end of " + wanted.nspace, status);
  }
  const pmix_status_t puller = Pull(wanted);
  if (puller < 0) return PullFailed(wanted, puller);
  const std::string& to = words[3];
  TypedInput input(STDIN_FILENO, to == "none" ? '\0' : key);
  if (to != "none") {
    std::thread(Type, Pusher(wanted.nspace, to), &input, wanted.nspace)
        .detach();
  }
  const int code = ConcludeAsTheJob(wanted.nspace);
  input.Restore();
  // The other thread may be blocked in a read, so the process ends without
  // joining it.
  (void)PMIx_tool_finalize();
  _exit(code);
}

}  // namespace canopy::tools
