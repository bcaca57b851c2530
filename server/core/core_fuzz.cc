// Fuzz target for the core's decoders: no input may cause a failure, and a
// decoded value must be the same after it was encoded and decoded again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "server/core/collective/collective_records.h"
#include "server/core/modex/kval.h"
#include "server/core/modex/modex.h"
#include "server/core/modex/persisted_commits.h"
#include "server/core/publish/publication.h"
#include "server/core/publish/publish_calls.h"
#include "server/core/why.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::core {
namespace {

void TryAnswer(std::string_view in) {
  const Result<StateAnswer> answer = DecodeStateAnswer(in);
  if (!answer.ok()) return;
  const std::string once = EncodeStateAnswer(*answer);
  const Result<StateAnswer> again = DecodeStateAnswer(once);
  if (!again.ok() || EncodeStateAnswer(*again) != once) abort();
  MergeWaiting({*answer, *again});
}

void TryContribution(std::string_view in) {
  ModexReader reader{Bytes(std::string(in))};
  ModexStore store;
  RankUpdate update;
  while (reader.Next(&update)) {
    store.StoreRemote(update);
    if (!AreKvals(store.SeenHere(update.proc).view())) abort();
  }
}

void TryCommit(std::string_view in) {
  ModexStore store;
  const Bytes kvals{std::string(in)};
  const ProcId proc = {"job", 0};
  const bool stored = store.Commit(0, proc, {{Scope::kGlobal, kvals}});
  if (stored != AreKvals(in)) abort();
  if (!AreKvals(store.SeenHere(proc).view())) abort();
}

// Uses the bytes as the key and as the value of a record.
void TryRecord(std::string_view in) {
  const std::string text(in);
  for (const auto& [rank, data] :
       RecoverCommits({{"commit " + text, Bytes(text)}})) {
    ModexStore store;
    if (!store.Commit(0, {"job", rank}, data)) abort();
    Actions actions;
    PersistCommit(store, {"job", rank}, data, &actions);
    for (const Action& action : actions) {
      const auto& record = std::get<PersistRecord>(action);
      if (RecoverCommits({{record.key, record.value}}).empty()) abort();
    }
  }
  const auto decoded = DecodeCollective({"collective " + text, Bytes(text)});
  if (!decoded) return;
  const auto& [id, record] = *decoded;
  const PersistRecord again = EncodeCollective("job", id, record);
  if (!DecodeCollective({again.key, again.value})) abort();
}

// Uses the bytes as a journal record, and as the arguments of publish and
// lookup.
void TryPublishing(std::string_view in) {
  const Bytes bytes{std::string(in)};
  if (const auto publication = DecodePublication(bytes)) {
    const Bytes again(EncodePublication(*publication));
    const auto same = DecodePublication(again);
    if (!same || EncodePublication(*same) != again.view()) abort();
  }
  for (const PublishFunction function :
       {PublishFunction::kPublish, PublishFunction::kLookup,
        PublishFunction::kUnpublish}) {
    PublishCall call;
    if (ReadCall(bytes, function, &call) != kSuccess) continue;
    if (call.data.size() > kMaxKeysOfCall) abort();
    for (const auto& [key, value] : call.data) {
      Decoder decoder(value.view());
      if (!decoder.SkipValue() || !decoder.done()) abort();
    }
  }
}

std::vector<std::string> PublishingCorpus() {
  Publication publication;
  publication.id = {{"job", 3}, 7};
  publication.key = "key";
  publication.members = {{"job", 4}};
  publication.uids = {1000};
  publication.value = Bytes(std::string("value"));
  Encoder infos;
  infos.PutSize(3);
  infos.PutString("pmix.range");
  infos.PutUint32(0);
  infos.PutUint16(PMIX_DATA_RANGE);
  infos.PutByte(PMIX_RANGE_GLOBAL);
  infos.PutString("pmix.timeout");
  infos.PutUint32(0);
  infos.PutUint16(PMIX_INT);
  infos.PutInt(5);
  infos.PutString("key");
  infos.PutUint32(0);
  infos.PutUint16(PMIX_STRING);
  infos.PutString("value");
  return {EncodePublication(publication), infos.Take()};
}

std::vector<std::string> Corpus() {
  StateAnswer answer;
  answer.node = 4;
  answer.about = "an agent";
  answer.jobs = {{"job", 8, 2, 1, 3}};
  answer.waiting = {
      {"job", "fence #2 of job:*", 1500, 2, {{{"job", 7}, 4, true}}, 9}};
  Encoder encoder;
  encoder.PutString("key");
  encoder.PutUint16(PMIX_STRING);
  encoder.PutString("value");
  const std::string kval = encoder.Take();
  ModexWriter writer;
  writer.Add({{"job", 1}, 0, 3, Bytes(kval)});
  writer.Add({{"job", 300}, 0, 3, Bytes(kval + kval)});
  std::vector<std::string> all = PublishingCorpus();
  all.push_back(EncodeStateAnswer(answer));
  all.push_back(kval + kval);
  all.emplace_back(writer.Take().view());
  return all;
}

}  // namespace
}  // namespace canopy::core

std::vector<std::string> canopy::fuzz::Seeds() { return core::Corpus(); }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view in(reinterpret_cast<const char*>(data), size);
  canopy::core::TryAnswer(in);
  canopy::core::TryContribution(in);
  canopy::core::TryCommit(in);
  canopy::core::TryRecord(in);
  canopy::core::TryPublishing(in);
  return 0;
}
