#include "server/shim/protocol.h"

#include <algorithm>
#include <cstdio>

#include "common/describe.h"
#include "common/job_description.h"

namespace canopy::process {
namespace {

using wire::Is;

// The payload of a frame that is a list. `Items` may be const.
template <typename Items>
struct List {
  Items& items;
};
template <typename T>
concept AnyList = requires(T list) {
  list.items;
};

template <typename T>
List(T&) -> List<T>;

struct Names {
  std::vector<std::string> names;
};

struct ByteCount {
  uint64_t bytes = 0;
};

struct InputHead {
  std::vector<Rank> ranks;
};

struct OutputHead {
  Rank rank = 0;
  uint16_t channel = 0;
};

template <typename V>
void Describe(V& v, AnyList auto& m) {
  v.Field(1, m.items);
}

template <typename V>
void Describe(V& v, Is<Names> auto& m) {
  v.Field(1, m.names);
}

template <typename V>
void Describe(V& v, Is<ByteCount> auto& m) {
  v.Field(1, m.bytes);
}

template <typename V>
void Describe(V& v, Is<InputHead> auto& m) {
  v.Field(1, m.ranks);
}

template <typename V>
void Describe(V& v, Is<OutputHead> auto& m) {
  v.Field(1, m.rank);
  v.Field(2, m.channel);
}

// Encodes the head of a frame with data: its length, then the message.
template <typename M>
std::string EncodeHead(const M& head) {
  const size_t size = wire::SizeOf(head);
  std::string out(wire::VarintSize(size) + size, '\0');
  wire::Writer writer(out.data());
  writer.Length(size);
  Describe(writer, head);
  return out;
}

template <typename M>
bool DecodeHead(std::string_view in, M* head, std::string_view* data) {
  wire::Input input(in);
  const std::string_view bytes = input.Chunk();
  if (!input.ok() || !wire::Decode(bytes, head)) return false;
  *data = in.substr(input.position());
  return true;
}

bool Valid(const RankSpec& rank) {
  return rank.fd_names.size() <= kMaxInherited;
}

bool Valid(const TextPart& part) {
  return part.channel == kChannelStdout || part.channel == kChannelStderr;
}

size_t TextBytes(const TextRequest& text) {
  size_t bytes = 0;
  for (const TextPart& part : text.parts) bytes += part.text.size();
  return bytes;
}

}  // namespace

template <typename V>
void Describe(V& v, Is<RankUsage> auto& m) {
  v.Field(1, m.cpu_us);
  v.Field(2, m.peak_bytes);
}

template <typename V>
void Describe(V& v, Is<Hello> auto& m) {
  v.Field(1, m.version);
}

template <typename V>
void Describe(V& v, Is<AppSpec> auto& m) {
  v.Field(1, m.program);
  v.Field(2, m.argv);
  v.Field(3, m.env);
  v.Field(4, m.cwd);
  v.Field(5, m.own_library_env);
  v.Field(6, m.known_finding);
  v.Field(7, m.merge_stderr);
}

template <typename V>
void Describe(V& v, Is<PrepareJob> auto& m) {
  v.Field(1, m.nspace);
  v.Field(2, m.orphan_ms);
  v.Field(3, m.grace_ms);
  v.Field(4, m.window);
  v.Field(5, m.uid);
  v.Field(6, m.gid);
  v.Field(7, m.merge_stderr);
  v.Field(8, m.record);
  v.Field(9, m.env);
  v.Field(10, m.apps);
  v.Field(11, m.library);
  v.Field(13, m.stop_on_exec);
  v.Field(14, m.process);
  v.Field(15, m.user);
}

template <typename V>
void Describe(V& v, Is<RankSpec> auto& m) {
  v.Field(1, m.rank);
  v.Field(2, m.app);
  v.Field(3, m.env);
  v.Field(4, m.cpuset);
  v.Field(5, m.has_stdin);
  v.Field(6, m.fd_names);
}

template <typename V>
void Describe(V& v, Is<RestartRank> auto& m) {
  v.Field(1, m.incarnation);
  v.Field(2, m.spec);
}

template <typename V>
void Describe(V& v, Is<SignalRanks> auto& m) {
  v.Field(1, m.signal);
  v.Field(2, m.ranks);
}

template <typename V>
void Describe(V& v, Is<KillRanks> auto& m) {
  v.Field(1, m.grace_ms);
  v.Field(2, m.ranks);
}

template <typename V>
void Describe(V& v, Is<TextPart> auto& m) {
  v.Field(1, m.channel);
  v.Field(2, m.text);
}

template <typename V>
void Describe(V& v, Is<TextRequest> auto& m) {
  v.Field(1, m.client);
  v.Field(2, m.request);
  v.Field(3, m.again);
  v.Field(4, m.rank);
  v.Field(5, m.key);
  v.Field(6, m.value);
  v.Field(7, m.parts);
}

template <typename V>
void Describe(V& v, Is<RankState> auto& m) {
  v.Field(1, m.rank);
  v.Choice(2, m.phase, RankPhase::kEnded);
  v.Field(3, m.pid);
  v.Field(4, m.wait_status);
  v.Field(5, m.incarnation);
}

template <typename V>
void Describe(V& v, Is<Welcome> auto& m) {
  v.Field(1, m.version);
  v.Field(2, m.pid);
  v.Field(3, m.nspace);
  v.Field(4, m.started);
  v.Field(5, m.record);
  v.Field(6, m.ranks);
  v.Field(7, m.held);
  v.Field(8, m.input_taken);
  v.Field(9, m.input_done);
}

template <typename V>
void Describe(V& v, Is<Prepared> auto& m) {
  v.Field(1, m.status);
  v.Field(2, m.text);
  v.Field(3, m.findings);
}

template <typename V>
void Describe(V& v, Is<StartedRank> auto& m) {
  v.Field(1, m.rank);
  v.Field(2, m.pid);
}

template <typename V>
void Describe(V& v, Is<StartError> auto& m) {
  v.Field(1, m.rank);
  v.Field(2, m.status);
  v.Field(3, m.error);
  v.Field(4, m.text);
}

template <typename V>
void Describe(V& v, Is<Started> auto& m) {
  v.Field(1, m.ranks);
  v.Field(2, m.errors);
}

template <typename V>
void Describe(V& v, Is<ExitedRank> auto& m) {
  v.Field(1, m.rank);
  v.Field(2, m.wait_status);
  v.Field(3, m.incarnation);
  v.Field(4, m.used);
}

template <typename V>
void Describe(V& v, Is<Notice> auto& m) {
  v.Field(1, m.status);
  v.Field(2, m.text);
}

template <typename V>
void Describe(V& v, Is<JoinPod> auto& m) {
  v.Field(1, m.version);
  v.Field(2, m.argv);
}

template <typename V>
void Describe(V& v, Is<TextTaken> auto& m) {
  v.Field(1, m.status);
}

std::string JobMark(std::string_view nspace, int shim_pid) {
  return "CANOPY_SHIM=" + std::to_string(shim_pid) + ":" + std::string(nspace);
}

std::string Encode(const Hello& m) { return wire::Encode(m); }
std::string Encode(const PrepareJob& m) { return wire::Encode(m); }
std::string Encode(const RestartRank& m) { return wire::Encode(m); }
std::string Encode(const SignalRanks& m) { return wire::Encode(m); }
std::string Encode(const KillRanks& m) { return wire::Encode(m); }
std::string Encode(const TextRequest& m) { return wire::Encode(m); }
std::string Encode(const Welcome& m) { return wire::Encode(m); }
std::string Encode(const Prepared& m) { return wire::Encode(m); }
std::string Encode(const Started& m) { return wire::Encode(m); }
std::string Encode(const TextTaken& m) { return wire::Encode(m); }
std::string Encode(const Notice& m) { return wire::Encode(m); }
std::string Encode(const JoinPod& m) { return wire::Encode(m); }
std::string Encode(const std::vector<RankSpec>& m) {
  return wire::Encode(List{m});
}
std::string Encode(const std::vector<ExitedRank>& m) {
  return wire::Encode(List{m});
}

bool Decode(std::string_view in, Hello* m) { return wire::Decode(in, m); }
bool Decode(std::string_view in, SignalRanks* m) { return wire::Decode(in, m); }
bool Decode(std::string_view in, KillRanks* m) { return wire::Decode(in, m); }
bool Decode(std::string_view in, Prepared* m) { return wire::Decode(in, m); }
bool Decode(std::string_view in, Started* m) { return wire::Decode(in, m); }
bool Decode(std::string_view in, TextTaken* m) { return wire::Decode(in, m); }
bool Decode(std::string_view in, Notice* m) { return wire::Decode(in, m); }
bool Decode(std::string_view in, JoinPod* m) { return wire::Decode(in, m); }

bool Decode(std::string_view in, PrepareJob* m) {
  return wire::Decode(in, m) && !m->nspace.empty() && m->window > 0;
}

bool Decode(std::string_view in, std::vector<RankSpec>* m) {
  List list{*m};
  return wire::Decode(in, &list) &&
         std::ranges::all_of(*m, [](const RankSpec& r) { return Valid(r); });
}

bool Decode(std::string_view in, RestartRank* m) {
  return wire::Decode(in, m) && Valid(m->spec);
}

bool Decode(std::string_view in, TextRequest* m) {
  return wire::Decode(in, m) && m->parts.size() <= kMaxTextParts &&
         std::ranges::all_of(m->parts,
                             [](const TextPart& p) { return Valid(p); }) &&
         TextBytes(*m) <= kMaxWaitingText &&
         m->key.size() + m->value.size() <= kMaxTextKind;
}

bool Decode(std::string_view in, Welcome* m) {
  return wire::Decode(in, m) && m->held.size() <= kMaxHeld &&
         m->input_done <= m->input_taken;
}

bool Decode(std::string_view in, std::vector<ExitedRank>* m) {
  List list{*m};
  return wire::Decode(in, &list);
}

std::string EncodeBytes(uint64_t bytes) {
  return wire::Encode(ByteCount{bytes});
}

bool DecodeBytes(std::string_view in, uint64_t* bytes) {
  ByteCount count;
  const bool read = wire::Decode(in, &count);
  *bytes = count.bytes;
  return read;
}

std::string EncodeNames(const std::vector<std::string>& names) {
  return wire::Encode(Names{names});
}

std::string EncodeName(std::string_view name) {
  return EncodeNames({std::string(name)});
}

bool DecodeNames(std::string_view in, std::vector<std::string>* names) {
  Names read;
  if (!wire::Decode(in, &read)) return false;
  *names = std::move(read.names);
  return true;
}

bool DecodeName(std::string_view in, std::string* name) {
  std::vector<std::string> names;
  if (!DecodeNames(in, &names) || names.size() != 1) return false;
  *name = std::move(names[0]);
  return true;
}

std::string EncodeInputHead(const std::vector<Rank>& ranks) {
  return EncodeHead(InputHead{ranks});
}

bool DecodeInput(std::string_view in, std::vector<Rank>* ranks,
                 std::string_view* data) {
  InputHead head;
  const bool read = DecodeHead(in, &head, data);
  *ranks = std::move(head.ranks);
  return read;
}

std::string EncodeOutputHead(Rank rank, uint16_t channel) {
  return EncodeHead(OutputHead{rank, channel});
}

bool DecodeOutput(std::string_view in, Rank* rank, uint16_t* channel,
                  std::string_view* data) {
  OutputHead head;
  if (!DecodeHead(in, &head, data)) return false;
  *rank = head.rank;
  *channel = head.channel;
  return true;
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
