#include "server/shim/protocol.h"

#include <algorithm>
#include <cstdio>

#include "common/wire.h"

namespace canopy::process {
namespace {

void PutRanks(WireWriter& w, const std::vector<Rank>& ranks) {
  w.Uint(ranks.size());
  for (const Rank rank : ranks) w.Uint(rank);
}

std::vector<Rank> GetRanks(WireReader& r) {
  std::vector<Rank> out(r.Count());
  for (Rank& rank : out) rank = r.Uint32();
  return out;
}

int GetInt(WireReader& r) {
  const int64_t v = r.Int();
  if (v < INT32_MIN || v > INT32_MAX) r.Fail();
  return static_cast<int>(v);
}

void PutRank(WireWriter& w, const RankSpec& rank) {
  w.Uint(rank.rank);
  w.Uint(rank.app);
  w.Strings(rank.env);
  w.String(rank.cpuset);
  w.Bool(rank.has_stdin);
  w.Strings(rank.fd_names);
}

void GetRank(WireReader& r, RankSpec* rank) {
  rank->rank = r.Uint32();
  rank->app = r.Uint32();
  rank->env = r.Strings();
  rank->cpuset = r.String();
  rank->has_stdin = r.Bool();
  rank->fd_names = r.Strings();
  if (rank->fd_names.size() > kMaxInherited) r.Fail();
}

// Appended at the end, and only if an incarnation differs from 0: agents of
// versions before 5 never have such a job.
template <typename T>
void PutIncarnations(WireWriter& w, const std::vector<T>& ranks) {
  const bool none = std::ranges::all_of(
      ranks, [](const T& rank) { return rank.incarnation == 0; });
  if (none) return;
  for (const T& rank : ranks) w.Uint(rank.incarnation);
}

template <typename T>
void GetIncarnations(WireReader& r, std::vector<T>* ranks) {
  if (!r.ok() || r.done()) return;
  for (T& rank : *ranks) rank.incarnation = r.Uint32();
}

bool IsMeasured(const std::vector<ExitedRank>& ranks) {
  return std::ranges::any_of(
      ranks, [](const ExitedRank& rank) { return rank.used.has_value(); });
}

// Appended after the incarnations, if a rank has values.
void PutUsage(WireWriter& w, const std::vector<ExitedRank>& ranks) {
  for (const ExitedRank& rank : ranks) {
    w.Bool(rank.used.has_value());
    if (!rank.used) continue;
    w.Uint(rank.used->cpu_us);
    w.Uint(rank.used->peak_bytes);
  }
}

void GetUsage(WireReader& r, std::vector<ExitedRank>* ranks) {
  if (!r.ok() || r.done()) return;
  for (ExitedRank& rank : *ranks) {
    if (!r.Bool()) continue;
    rank.used.emplace();
    rank.used->cpu_us = r.Uint();
    rank.used->peak_bytes = r.Uint();
  }
  if (!IsMeasured(*ranks)) r.Fail();
}

// Flags of a PrepareJob, in a number that follows its applications. Some
// announce further fields.
constexpr uint64_t kIndexArgv = 1;
constexpr uint64_t kMergedApps = 2;
constexpr uint64_t kStopsOnExec = 4;

uint64_t MoreOf(const PrepareJob& m) {
  const bool merges = std::ranges::any_of(m.apps, &AppSpec::merge_stderr);
  return (m.index_argv ? kIndexArgv : 0) | (merges ? kMergedApps : 0) |
         (m.stop_on_exec ? kStopsOnExec : 0);
}

}  // namespace

std::string JobMark(std::string_view nspace, int shim_pid) {
  return "CANOPY_SHIM=" + std::to_string(shim_pid) + ":" + std::string(nspace);
}

std::string Encode(const Hello& m) {
  WireWriter w;
  w.Uint(m.version);
  return w.Take();
}

bool Decode(std::string_view in, Hello* m) {
  WireReader r(in);
  m->version = r.Uint32();
  return r.ok();
}

std::string Encode(const PrepareJob& m) {
  WireWriter w;
  w.String(m.nspace);
  w.Uint(m.orphan_ms);
  w.Uint(m.grace_ms);
  w.Uint(m.window);
  w.Uint(m.uid);
  w.Uint(m.gid);
  w.Bool(m.merge_stderr);
  w.String(m.record);
  w.Strings(m.env);
  w.Uint(m.apps.size());
  for (const AppSpec& app : m.apps) {
    w.String(app.program);
    w.Strings(app.argv);
    w.Strings(app.env);
    w.String(app.cwd);
  }
  const uint64_t more = MoreOf(m);
  if (m.library.empty() && more == 0) return w.Take();
  w.String(m.library);
  for (const AppSpec& app : m.apps) {
    w.Strings(app.own_library_env);
    w.String(app.known_finding);
  }
  if (more != 0) w.Uint(more);
  if ((more & kMergedApps) != 0) {
    for (const AppSpec& app : m.apps) w.Bool(app.merge_stderr);
  }
  if (m.stop_on_exec) PutRanks(w, *m.stop_on_exec);
  return w.Take();
}

bool Decode(std::string_view in, PrepareJob* m) {
  WireReader r(in);
  m->nspace = r.String();
  m->orphan_ms = r.Uint32();
  m->grace_ms = r.Uint32();
  m->window = r.Uint();
  m->uid = r.Uint32();
  m->gid = r.Uint32();
  m->merge_stderr = r.Bool();
  m->record = r.String();
  m->env = r.Strings();
  m->apps.resize(r.Count(4));
  for (AppSpec& app : m->apps) {
    app.program = r.String();
    app.argv = r.Strings();
    app.env = r.Strings();
    app.cwd = r.String();
  }
  // Records of versions before 4 end here.
  if (!r.done()) {
    m->library = r.String();
    for (AppSpec& app : m->apps) {
      app.own_library_env = r.Strings();
      app.known_finding = r.String();
    }
    const bool has_more = r.ok() && !r.done();
    const uint64_t more = has_more ? r.Uint() : 0;
    m->index_argv = (more & kIndexArgv) != 0;
    if ((more & kMergedApps) != 0) {
      for (AppSpec& app : m->apps) app.merge_stderr = r.Bool();
    }
    if ((more & kStopsOnExec) != 0) m->stop_on_exec = GetRanks(r);
    if (MoreOf(*m) != more) r.Fail();
    if (has_more ? more == 0 : m->library.empty()) r.Fail();
  }
  return r.done() && !m->nspace.empty() && m->window > 0;
}

std::string Encode(const std::vector<RankSpec>& m) {
  WireWriter w;
  w.Uint(m.size());
  for (const RankSpec& rank : m) PutRank(w, rank);
  return w.Take();
}

bool Decode(std::string_view in, std::vector<RankSpec>* m) {
  WireReader r(in);
  m->resize(r.Count(6));
  for (RankSpec& rank : *m) GetRank(r, &rank);
  return r.done();
}

std::string Encode(const RestartRank& m) {
  WireWriter w;
  w.Uint(m.incarnation);
  PutRank(w, m.spec);
  return w.Take();
}

bool Decode(std::string_view in, RestartRank* m) {
  WireReader r(in);
  m->incarnation = r.Uint32();
  GetRank(r, &m->spec);
  return r.done();
}

std::string Encode(const SignalRanks& m) {
  WireWriter w;
  w.Int(m.signal);
  PutRanks(w, m.ranks);
  return w.Take();
}

bool Decode(std::string_view in, SignalRanks* m) {
  WireReader r(in);
  m->signal = GetInt(r);
  m->ranks = GetRanks(r);
  return r.done();
}

std::string Encode(const KillRanks& m) {
  WireWriter w;
  w.Uint(m.grace_ms);
  PutRanks(w, m.ranks);
  return w.Take();
}

bool Decode(std::string_view in, KillRanks* m) {
  WireReader r(in);
  m->grace_ms = r.Uint32();
  m->ranks = GetRanks(r);
  return r.done();
}

std::string Encode(const TextRequest& m) {
  WireWriter w;
  w.Uint(m.client);
  w.Uint(m.request);
  w.Bool(m.again);
  w.Uint(m.rank);
  w.String(m.key);
  w.String(m.value);
  w.Uint(m.parts.size());
  for (const TextPart& part : m.parts) {
    w.Uint(part.channel);
    w.String(part.text);
  }
  return w.Take();
}

bool Decode(std::string_view in, TextRequest* m) {
  WireReader r(in);
  m->client = r.Uint();
  m->request = r.Uint32();
  m->again = r.Bool();
  m->rank = r.Uint32();
  m->key = r.String();
  m->value = r.String();
  const size_t parts = r.Count(2);
  if (parts > kMaxTextParts) return false;
  m->parts.resize(parts);
  size_t bytes = 0;
  for (TextPart& part : m->parts) {
    const uint64_t channel = r.Uint();
    if (channel != kChannelStdout && channel != kChannelStderr) r.Fail();
    part.channel = static_cast<uint16_t>(channel);
    part.text = r.String();
    bytes += part.text.size();
  }
  return r.done() && bytes <= kMaxWaitingText &&
         m->key.size() + m->value.size() <= kMaxTextKind;
}

std::string Encode(const Welcome& m) {
  WireWriter w;
  w.Uint(m.version);
  w.Int(m.pid);
  w.String(m.nspace);
  w.Bool(m.started);
  w.String(m.record);
  w.Uint(m.ranks.size());
  for (const RankState& rank : m.ranks) {
    w.Uint(rank.rank);
    w.Uint(static_cast<uint64_t>(rank.phase));
    w.Int(rank.pid);
    w.Int(rank.wait_status);
  }
  w.Strings(m.held);
  if (m.version >= 3) {
    w.Uint(m.input_taken);
    w.Uint(m.input_done);
  }
  PutIncarnations(w, m.ranks);
  return w.Take();
}

bool Decode(std::string_view in, Welcome* m) {
  WireReader r(in);
  m->version = r.Uint32();
  m->pid = GetInt(r);
  m->nspace = r.String();
  m->started = r.Bool();
  m->record = r.String();
  m->ranks.resize(r.Count(4));
  for (RankState& rank : m->ranks) {
    rank.rank = r.Uint32();
    const uint64_t phase = r.Uint();
    if (phase > static_cast<uint64_t>(RankPhase::kEnded)) r.Fail();
    rank.phase = static_cast<RankPhase>(phase);
    rank.pid = GetInt(r);
    rank.wait_status = GetInt(r);
  }
  m->held = r.Strings();
  if (m->version >= 3) {
    m->input_taken = r.Uint();
    m->input_done = r.Uint();
  }
  GetIncarnations(r, &m->ranks);
  return r.done() && m->held.size() <= kMaxHeld &&
         m->input_done <= m->input_taken;
}

std::string Encode(const Prepared& m) {
  WireWriter w;
  w.Int(m.status);
  w.String(m.text);
  if (!m.findings.empty()) w.Strings(m.findings);
  return w.Take();
}

bool Decode(std::string_view in, Prepared* m) {
  WireReader r(in);
  m->status = GetInt(r);
  m->text = r.String();
  if (r.ok() && !r.done()) {
    m->findings = r.Strings();
    if (m->findings.empty()) r.Fail();
  }
  return r.done();
}

std::string Encode(const Started& m) {
  WireWriter w;
  w.Uint(m.ranks.size());
  for (const StartedRank& rank : m.ranks) {
    w.Uint(rank.rank);
    w.Int(rank.pid);
  }
  w.Uint(m.errors.size());
  for (const StartError& error : m.errors) {
    w.Uint(error.rank);
    w.Int(error.status);
    w.Int(error.error);
    w.String(error.text);
  }
  return w.Take();
}

bool Decode(std::string_view in, Started* m) {
  WireReader r(in);
  m->ranks.resize(r.Count(2));
  for (StartedRank& rank : m->ranks) {
    rank.rank = r.Uint32();
    rank.pid = GetInt(r);
  }
  m->errors.resize(r.Count(4));
  for (StartError& error : m->errors) {
    error.rank = r.Uint32();
    error.status = GetInt(r);
    error.error = GetInt(r);
    error.text = r.String();
  }
  return r.done();
}

std::string Encode(const std::vector<ExitedRank>& m) {
  WireWriter w;
  w.Uint(m.size());
  for (const ExitedRank& rank : m) {
    w.Uint(rank.rank);
    w.Int(rank.wait_status);
  }
  if (!IsMeasured(m)) {
    PutIncarnations(w, m);
    return w.Take();
  }
  for (const ExitedRank& rank : m) w.Uint(rank.incarnation);
  PutUsage(w, m);
  return w.Take();
}

bool Decode(std::string_view in, std::vector<ExitedRank>* m) {
  WireReader r(in);
  m->resize(r.Count(2));
  for (ExitedRank& rank : *m) {
    rank.rank = r.Uint32();
    rank.wait_status = GetInt(r);
  }
  GetIncarnations(r, m);
  GetUsage(r, m);
  return r.done();
}

std::string Encode(const TextTaken& m) {
  WireWriter w;
  w.Int(m.status);
  return w.Take();
}

bool Decode(std::string_view in, TextTaken* m) {
  WireReader r(in);
  m->status = GetInt(r);
  return r.done();
}

std::string EncodeBytes(uint64_t bytes) {
  WireWriter w;
  w.Uint(bytes);
  return w.Take();
}

bool DecodeBytes(std::string_view in, uint64_t* bytes) {
  WireReader r(in);
  *bytes = r.Uint();
  return r.done();
}

std::string EncodeNames(const std::vector<std::string>& names) {
  WireWriter w;
  w.Strings(names);
  return w.Take();
}

std::string EncodeName(std::string_view name) {
  WireWriter w;
  w.String(name);
  return w.Take();
}

bool DecodeNames(std::string_view in, std::vector<std::string>* names) {
  WireReader r(in);
  *names = r.Strings();
  return r.done();
}

bool DecodeName(std::string_view in, std::string* name) {
  WireReader r(in);
  *name = r.String();
  return r.done();
}

std::string EncodeInputHead(const std::vector<Rank>& ranks) {
  WireWriter w;
  PutRanks(w, ranks);
  return w.Take();
}

bool DecodeInput(std::string_view in, std::vector<Rank>* ranks,
                 std::string_view* data) {
  WireReader r(in);
  *ranks = GetRanks(r);
  *data = r.rest();
  return r.ok();
}

std::string EncodeOutputHead(Rank rank, uint16_t channel) {
  WireWriter w;
  w.Uint(rank);
  w.Uint(channel);
  return w.Take();
}

bool DecodeOutput(std::string_view in, Rank* rank, uint16_t* channel,
                  std::string_view* data) {
  WireReader r(in);
  *rank = r.Uint32();
  const uint64_t bits = r.Uint();
  if (bits > UINT16_MAX) r.Fail();
  *channel = static_cast<uint16_t>(bits);
  *data = r.rest();
  return r.ok();
}

std::string ShimSocketName(std::string_view nspace) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : nspace) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  }
  char name[32];
  snprintf(name, sizeof name, "shim-%016llx.sock",
           static_cast<unsigned long long>(hash));
  return name;
}

}  // namespace canopy::process
