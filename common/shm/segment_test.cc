#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "common/shm/arena.h"
#include "common/shm/segment_reader.h"
#include "common/shm/segment_writer.h"

namespace canopy::shm {
namespace {

using namespace std::string_literals;

// Returns the VALUE of a PMIX_STRING.
std::string StringValue(const std::string& s) {
  return "\x03"s + static_cast<char>((s.size() + 1) * 2) + s + '\0';
}

SegmentContents TwoNodes() {
  SegmentContents c;
  c.nspace = "job-1";
  c.proc_id_prefix = "\x16\x0cjob-1\0"s;
  c.self_node = 0;
  c.session = {{"pmix.univ.size", "\x0e\x08"s}};
  c.job = {{"pmix.job.size", "\x0e\x03"s}, {"pmix.nlist", StringValue("a,b")}};
  c.apps = {{{"pmix.app.size", "\x0e\x02"s}}, {{"pmix.app.size", "\x0e\x01"s}}};
  c.nodes.push_back({"a",
                     {"a.site", "10.0.0.1"},
                     StringValue("a"),
                     {{"pmix.local.size", "\x0e\x02"s}},
                     4});
  c.nodes.push_back(
      {"b", {}, StringValue("b"), {{"pmix.local.size", "\x0e\x01"s}}, 9});
  c.procs.resize(3);
  for (uint32_t r = 0; r < 3; ++r) {
    ProcContents& p = c.procs[r];
    p.node = r == 1 ? 1 : 0;
    p.app = r == 2 ? 1 : 0;
    p.app_rank = r == 2 ? 0 : r;
    p.global_rank = r;
    p.local_rank = r == 2 ? 1 : 0;
    p.node_rank = p.local_rank;
    p.cpuset = StringValue("0-1");
    if (p.node == 0) p.locality = StringValue("NM0:SK0");
  }
  return c;
}

SegmentLimits Small() {
  SegmentLimits limits;
  limits.arena_bytes = 256u << 20;
  limits.memory_budget = 64u << 20;
  return limits;
}

struct Pair {
  std::unique_ptr<SegmentWriter> writer;
  std::unique_ptr<SegmentReader> reader;
};

Pair Make(const SegmentContents& contents = TwoNodes(),
          const SegmentLimits& limits = Small()) {
  auto writer = SegmentWriter::Create(contents, limits);
  EXPECT_TRUE(writer.ok()) << writer.status().message();
  auto reader = SegmentReader::Map((*writer)->fd(), (*writer)->size());
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  return {std::move(*writer), std::move(*reader)};
}

std::string Value(const SegmentReader& reader, Rank rank,
                  std::string_view key) {
  const Lookup lookup = reader.FindProc(rank, key);
  return lookup.found() ? std::string(lookup.value()) : "none";
}

TEST(SegmentTest, FindsTheDataOfEachLevelOfTheJob) {
  const Pair p = Make();
  const SegmentReader& r = *p.reader;
  EXPECT_EQ(r.nspace(), "job-1");
  EXPECT_EQ(r.num_ranks(), 3u);
  EXPECT_EQ(r.num_nodes(), 2u);
  EXPECT_EQ(r.num_apps(), 2u);
  EXPECT_EQ(r.self_node(), 0u);
  EXPECT_EQ(r.FindSession("pmix.univ.size"), "\x0e\x08"s);
  EXPECT_EQ(r.FindSession("pmix.job.size"), std::nullopt);
  EXPECT_EQ(r.FindJob("pmix.nlist"), StringValue("a,b"));
  EXPECT_EQ(r.FindApp(1, "pmix.app.size"), "\x0e\x01"s);
  EXPECT_EQ(r.FindApp(2, "pmix.app.size"), std::nullopt);
  EXPECT_EQ(r.FindNode(1, "pmix.local.size"), "\x0e\x01"s);
  EXPECT_EQ(r.FindNode(7, "pmix.local.size"), std::nullopt);
  std::map<std::string, std::string> job;
  r.ForEachJobKey(
      [&](std::string_view k, std::string_view v) { job.emplace(k, v); });
  EXPECT_EQ(job.size(), 2u);
  EXPECT_EQ(job["pmix.job.size"], "\x0e\x03"s);
}

TEST(SegmentTest, FindsNodesByNameIdAndRank) {
  const Pair p = Make();
  const SegmentReader& r = *p.reader;
  EXPECT_EQ(r.NodeByName("b"), 1u);
  EXPECT_EQ(r.NodeByName("10.0.0.1"), 0u);
  EXPECT_EQ(r.NodeByName("c"), std::nullopt);
  EXPECT_EQ(r.NodeById(9), 1u);
  EXPECT_EQ(r.NodeById(1), std::nullopt);
  EXPECT_EQ(r.NodeOf(1), 1u);
  EXPECT_EQ(r.NodeOf(3), kNoNode);
  const auto on_a = r.RanksOn(0);
  EXPECT_EQ(std::vector<uint32_t>(on_a.begin(), on_a.end()),
            (std::vector<uint32_t>{0, 2}));
  EXPECT_TRUE(r.RanksOn(2).empty());
}

TEST(SegmentTest, DerivesTheReservedKeysOfARank) {
  const Pair p = Make();
  const SegmentReader& r = *p.reader;
  EXPECT_EQ(Value(r, 2, "pmix.rank"), "\x28\x02"s);
  EXPECT_EQ(Value(r, 2, "pmix.lrank"), "\x0d\x01"s);
  EXPECT_EQ(Value(r, 2, "pmix.appnum"), "\x0e\x01"s);
  EXPECT_EQ(Value(r, 1, "pmix.nodeid"), "\x0e\x09"s);
  EXPECT_EQ(Value(r, 1, "pmix.hname"), StringValue("b"));
  EXPECT_EQ(Value(r, 1, "pmix.procid"), "\x16\x0cjob-1\0\x01"s);
  EXPECT_EQ(Value(r, 0, "pmix.cpuset"), StringValue("0-1"));
  EXPECT_EQ(Value(r, 0, "pmix.locstr"), StringValue("NM0:SK0"));
  EXPECT_EQ(Value(r, 1, "pmix.locstr"), "none");
  EXPECT_EQ(Value(r, 1, "pmix.pkgrank"), "none");
  EXPECT_EQ(Value(r, 1, "pmix.ppid"), "none");
  EXPECT_EQ(Value(r, 3, "pmix.rank"), "none");
  p.writer->SetPid(1, 300);
  EXPECT_EQ(Value(r, 1, "pmix.ppid"), "\x05\x0e\xac\x02"s);
  EXPECT_EQ(Value(r, 1, "pmix.reinc"), "\x0e\x00"s);
  p.writer->SetReincarnation(1, 2);
  EXPECT_EQ(Value(r, 1, "pmix.reinc"), "\x0e\x02"s);
  p.writer->SetReincarnation(9, 2);  // no such rank: no effect
}

TEST(SegmentTest, PublishReplacesAllDataAndMarksKeysOutsideTheirScope) {
  const Pair p = Make();
  const SegmentReader& r = *p.reader;
  EXPECT_EQ(r.FindProc(0, "k").state(), LookupState::kAbsent);
  ASSERT_TRUE(p.writer->Publish(0, {{"k", "v1", 0}, {"gone", "x", 0}}).ok());
  const Lookup first = r.FindProc(0, "k");
  EXPECT_EQ(first.value(), "v1");
  EXPECT_TRUE(r.StillValid(first));
  ASSERT_TRUE(
      p.writer->Publish(0, {{"k", "v2", 0}, {"out", "", kEntryOutsideScope}})
          .ok());
  EXPECT_FALSE(r.StillValid(first));
  EXPECT_EQ(Value(r, 0, "k"), "v2");
  EXPECT_EQ(r.FindProc(0, "out").state(), LookupState::kOutsideScope);
  EXPECT_EQ(r.FindProc(0, "gone").state(), LookupState::kAbsent);
  EXPECT_EQ(p.writer->Publish(9, {}).code(), kErrBadParam);
}

TEST(SegmentTest, ARanksDataHaveTheVersionThatWasSetLast) {
  const Pair p = Make();
  EXPECT_EQ(p.reader->Version(2), 0u);
  p.writer->SetVersion(0, 7);
  p.writer->SetVersion(2, uint64_t{1} << 60);
  p.writer->SetVersion(2, (uint64_t{1} << 60) + 1);
  p.writer->SetVersion(3, 9);  // no such rank: no effect
  EXPECT_EQ(p.reader->Version(0), 7u);
  EXPECT_EQ(p.reader->Version(1), 0u);
  EXPECT_EQ(p.reader->Version(2), (uint64_t{1} << 60) + 1);
  EXPECT_EQ(p.reader->Version(3), 0u);
}

TEST(SegmentTest, VisitsAllVisibleKeysOfARank) {
  const Pair p = Make();
  ASSERT_TRUE(p.writer
                  ->Publish(1, {{"a", "1", 0},
                                {"out", "", kEntryOutsideScope},
                                {"b", "2", 0}})
                  .ok());
  std::map<std::string, std::string> seen;
  EXPECT_TRUE(p.reader->ForEachProcKey(
      1, [&](std::string_view k, std::string_view v) { seen.emplace(k, v); }));
  EXPECT_EQ(seen.count("out"), 0u);
  EXPECT_EQ(seen["a"], "1");
  EXPECT_EQ(seen["b"], "2");
  EXPECT_EQ(seen["pmix.rank"], "\x28\x01"s);
}

TEST(SegmentTest, EachOfManyKeysIsFound) {
  const Pair p = Make();
  std::vector<std::string> keys;
  for (int i = 0; i < 2000; ++i) keys.push_back("key." + std::to_string(i));
  std::vector<TableItem> items;
  for (const std::string& k : keys) items.push_back({k, k, 0});
  ASSERT_TRUE(p.writer->Publish(2, items).ok());
  for (const std::string& k : keys) EXPECT_EQ(Value(*p.reader, 2, k), k);
  EXPECT_EQ(Value(*p.reader, 2, "key.2000"), "none");
}

TEST(SegmentTest, ManyCommitsNeitherLeakNorSlowDown) {
  const Pair p = Make();
  const std::string value(64 << 10, 'x');
  for (int i = 0; i < 2000; ++i) {
    const std::string number = std::to_string(i);
    ASSERT_TRUE(
        p.writer->Publish(i % 3, {{"n", number, 0}, {"v", value, 0}}).ok());
    ASSERT_EQ(Value(*p.reader, i % 3, "n"), number);
  }
  EXPECT_LT(p.writer->used(), 16u << 20);
}

TEST(SegmentTest, UpdatesAddAndReplaceValues) {
  const Pair pair = Make();
  std::map<std::string, std::string> expected;
  const auto update = [&](const std::string& key, const std::string& text) {
    const std::string value = StringValue(text);
    const uint64_t stamp = pair.reader->Stamp(0);
    ASSERT_TRUE(pair.writer->Update(0, {{key, value, 0}}).ok());
    EXPECT_NE(pair.reader->Stamp(0), stamp);
    expected[key] = value;
  };
  for (int i = 0; i < 1000; ++i) {
    update("k" + std::to_string(i), "v" + std::to_string(i));
    if (i % 100 == 50) update("k" + std::to_string(i / 2), "other");
  }
  std::map<std::string, std::string> seen;
  EXPECT_TRUE(pair.reader->ForEachCommittedKey(
      0, [&](std::string_view key, std::string_view value) {
        EXPECT_TRUE(seen.emplace(key, value).second) << key;
      }));
  EXPECT_EQ(seen, expected);
  for (const auto& [key, value] : expected) {
    const Lookup lookup = pair.reader->FindProc(0, key);
    ASSERT_TRUE(lookup.found()) << key;
    EXPECT_EQ(lookup.value(), value);
  }
  EXPECT_FALSE(pair.reader->FindProc(0, "k1000").found());
  // Everything is replaced.
  ASSERT_TRUE(pair.writer->Publish(0, {}).ok());
  EXPECT_FALSE(pair.reader->FindProc(0, "k1").found());
  update("k1", "again");
  EXPECT_TRUE(pair.reader->FindProc(0, "k1").found());
  EXPECT_FALSE(pair.reader->FindProc(0, "k2").found());
}

TEST(SegmentTest, AnUpdateCanBringAKeyIntoScope) {
  const Pair pair = Make();
  const std::string value = StringValue("v");
  ASSERT_TRUE(pair.writer->Update(0, {{"a", {}, kEntryOutsideScope}}).ok());
  ASSERT_TRUE(pair.writer->Update(0, {{"b", value, 0}}).ok());
  EXPECT_EQ(pair.reader->FindProc(0, "a").state(), LookupState::kOutsideScope);
  ASSERT_TRUE(pair.writer->Update(0, {{"a", value, 0}}).ok());
  EXPECT_TRUE(pair.reader->FindProc(0, "a").found());
  EXPECT_TRUE(pair.reader->FindProc(0, "b").found());
}

TEST(SegmentTest, AddedKeysCostLittleMemory) {
  const Pair pair = Make();
  const std::string value = StringValue(std::string(1000, 'x'));
  for (int i = 0; i < 1000; ++i) {
    const std::string key = "key" + std::to_string(i);
    ASSERT_TRUE(pair.writer->Update(0, {{key, value, 0}}).ok());
  }
  EXPECT_LT(pair.writer->used(), 12u << 20);
}

// Returns a value that contains its own length.
std::string Sized(uint32_t size) {
  return std::to_string(size) + std::string(size, '.');
}

bool IsWhole(std::string_view value) {
  const size_t digits = value.find('.');
  if (digits == std::string_view::npos) return value == "0";
  return value == Sized(static_cast<uint32_t>(
                      std::stoul(std::string(value.substr(0, digits)))));
}

TEST(SegmentTest, ReplacedKeysCostLittleMemory) {
  const Pair pair = Make();
  std::map<std::string, std::string> expected;
  std::mt19937 random(3);
  const auto put = [&](const std::string& key, uint32_t size) {
    expected[key] = Sized(size);
    ASSERT_TRUE(pair.writer->Update(0, {{key, expected[key], 0}}).ok());
  };
  for (int i = 0; i < 20; ++i) put("steady" + std::to_string(i), 100);
  for (int i = 0; i < 10000; ++i) {
    put("k" + std::to_string(i % 7), random() % 3000);
  }
  std::map<std::string, std::string> seen;
  EXPECT_TRUE(pair.reader->ForEachCommittedKey(
      0, [&](std::string_view key, std::string_view value) {
        EXPECT_TRUE(seen.emplace(key, value).second) << key;
      }));
  EXPECT_EQ(seen, expected);
  // Only the queue for slow readers and a few tables are in use.
  EXPECT_LT(pair.writer->used(), Arena::kQuarantineBytes + (1u << 20));
}

TEST(SegmentTest, ReplacementsReuseTheMemoryOfSmallValues) {
  const Pair pair = Make();
  const std::string large(1 << 20, 'x');
  ASSERT_TRUE(pair.writer->Update(0, {{"large", large, 0}}).ok());
  ASSERT_TRUE(pair.writer->Update(0, {{"small", "0", 0}}).ok());
  const uint64_t used = pair.writer->used();
  for (int i = 0; i < 10000; ++i) {
    const std::string number = std::to_string(i);
    ASSERT_TRUE(pair.writer->Update(0, {{"small", number, 0}}).ok());
    ASSERT_EQ(Value(*pair.reader, 0, "small"), number);
  }
  EXPECT_EQ(pair.writer->used(), used);
}

TEST(SegmentTest, DataBeyondTheBudgetAreRefusedAndTheOldOnesKept) {
  SegmentLimits limits = Small();
  limits.memory_budget = 1 << 20;
  const Pair p = Make(TwoNodes(), limits);
  ASSERT_TRUE(p.writer->Publish(0, {{"k", "v", 0}}).ok());
  const std::string big(2 << 20, 'x');
  EXPECT_EQ(p.writer->Publish(0, {{"k", "v", 0}, {"big", big, 0}}).code(),
            kErrOutOfResource);
  EXPECT_EQ(Value(*p.reader, 0, "k"), "v");
  EXPECT_EQ(p.reader->FindProc(0, "big").state(), LookupState::kNoRoom);
  EXPECT_EQ(p.writer->Publish(1, {{"big", big, 0}}).code(), kErrOutOfResource);
  EXPECT_EQ(p.reader->FindProc(1, "big").state(), LookupState::kNoRoom);
  ASSERT_TRUE(p.writer->Publish(0, {{"k", "w", 0}}).ok());
  EXPECT_EQ(p.reader->FindProc(0, "big").state(), LookupState::kAbsent);
}

TEST(SegmentTest, HoldsAValueLargerThanAWindow) {
  SegmentLimits limits;
  limits.arena_bytes = 8 * kWindow;
  limits.memory_budget = 4 * kWindow;
  const Pair p = Make(TwoNodes(), limits);
  ASSERT_TRUE(p.writer->Publish(0, {{"small", "s", 0}}).ok());
  EXPECT_EQ(Value(*p.reader, 0, "small"), "s");
  std::string big(kWindow + 12345, 'b');
  big.back() = 'e';
  ASSERT_TRUE(p.writer->Publish(1, {{"big", big, 0}}).ok());
  const Lookup lookup = p.reader->FindProc(1, "big");
  ASSERT_TRUE(lookup.found());
  EXPECT_EQ(lookup.value(), big);
}

TEST(SegmentTest, IsSealedAgainstResizingAndOtherWriters) {
  const Pair p = Make();
  EXPECT_NE(ftruncate(p.writer->fd(), 4096), 0);
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED,
                 p.writer->fd(), 0),
            MAP_FAILED);
}

TEST(SegmentTest, AReaderOutlivesTheWriter) {
  Pair p = Make();
  ASSERT_TRUE(p.writer->Publish(0, {{"k", "v", 0}}).ok());
  p.writer.reset();
  EXPECT_EQ(Value(*p.reader, 0, "k"), "v");
}

TEST(SegmentTest, ASegmentWorksWithLittleAddressSpace) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need address space of their own";
#endif
  const pid_t child = fork();
  if (child == 0) {
    rlimit limit{2ull << 30, 2ull << 30};
    setrlimit(RLIMIT_AS, &limit);
    auto writer = SegmentWriter::Create(TwoNodes(), SegmentLimits());
    if (!writer.ok()) _exit(1);
    auto reader = SegmentReader::Map((*writer)->fd(), (*writer)->size());
    if (!reader.ok()) _exit(2);
    if (!(*writer)->Publish(0, {{"k", "v", 0}}).ok()) _exit(3);
    _exit(Value(**reader, 0, "k") == "v" ? 0 : 4);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SegmentTest, ConcurrentReadersSeeWholeValues) {
  const Pair p = Make();
  ASSERT_TRUE(p.writer->Publish(0, {{"v", std::string(100, 'a'), 0}}).ok());
  std::atomic<bool> stop{false};
  std::atomic<int> torn{0};
  std::thread reading([&] {
    while (!stop) {
      std::string copy;
      p.reader->ReadProc(0, "v", [&](std::string_view value) { copy = value; });
      if (copy.empty() ||
          copy.find_first_not_of(copy[0]) != std::string::npos) {
        ++torn;
      }
    }
  });
  for (int i = 0; i < 20000; ++i) {
    const std::string value(100 + i % 50, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(p.writer->Publish(0, {{"v", value, 0}}).ok());
  }
  stop = true;
  reading.join();
  EXPECT_EQ(torn, 0);
}

TEST(SegmentTest, ConcurrentReadersSeeAddedKeysWhole) {
  const Pair pair = Make();
  std::thread writer([&] {
    for (int i = 0; i < 2000; ++i) {
      const std::string value =
          StringValue(std::string(100, static_cast<char>('a' + i % 26)));
      const std::string key = "k" + std::to_string(i);
      ASSERT_TRUE(pair.writer->Update(0, {{key, value, 0}}).ok());
    }
  });
  for (int i = 0; i < 2000;) {
    const LookupState state =
        pair.reader->ReadProc(0, "k" + std::to_string(i), [&](auto) {});
    if (state != LookupState::kFound) continue;
    const Lookup lookup = pair.reader->FindProc(0, "k" + std::to_string(i));
    const std::string value(lookup.value());
    if (!pair.reader->StillValid(lookup)) continue;
    EXPECT_EQ(value, StringValue(std::string(100, 'a' + i % 26)));
    ++i;
  }
  writer.join();
}

constexpr int kSharedKeys = 5;

// Reads until every value is "0". Returns an error, or "".
std::string ReadBesideWriter(const SegmentReader& reader) {
  for (;;) {
    std::map<std::string, std::string> all;
    bool twice = false;
    const bool stable = reader.ForEachCommittedKey(
        0, [&](std::string_view key, std::string_view value) {
          twice |= !all.emplace(key, value).second;
        });
    if (stable && twice) return "a key was there twice";
    if (stable && all.size() != kSharedKeys) return "a key was missing";
    bool over = stable;
    for (int i = 0; i < kSharedKeys; ++i) {
      const std::string key = "k" + std::to_string(i);
      std::string value;
      const LookupState state = reader.ReadProc(
          0, key, [&](std::string_view found) { value = found; });
      if (state != LookupState::kFound) return key + " was not found";
      if (!IsWhole(value)) return key + " was torn: " + value;
      if (stable && !IsWhole(all[key])) return key + " was torn in the walk";
      over &= value == "0";
    }
    if (over) return "";
  }
}

void PutAll(SegmentWriter* writer, uint32_t size) {
  const std::string value = Sized(size);
  std::vector<std::string> keys;
  for (int i = 0; i < kSharedKeys; ++i) keys.push_back("k" + std::to_string(i));
  std::vector<TableItem> items;
  for (const std::string& key : keys) items.push_back({key, value, 0});
  ASSERT_TRUE(writer->Update(0, items).ok());
}

void ReplaceOften(SegmentWriter* writer) {
  std::mt19937 random(4);
  for (int i = 0; i < 100000; ++i) {
    const std::string value = Sized(random() % 500);
    const std::string key = "k" + std::to_string(random() % kSharedKeys);
    ASSERT_TRUE(writer->Update(0, {{key, value, 0}}).ok());
  }
  PutAll(writer, 0);
}

TEST(SegmentTest, ReadersFindAllKeysDuringWrites) {
  const Pair pair = Make();
  PutAll(pair.writer.get(), 10);
  std::string first;
  std::string second;
  std::thread one([&] { first = ReadBesideWriter(*pair.reader); });
  std::thread two([&] { second = ReadBesideWriter(*pair.reader); });
  ReplaceOften(pair.writer.get());
  one.join();
  two.join();
  EXPECT_EQ(first, "");
  EXPECT_EQ(second, "");
}

TEST(SegmentTest, AnotherProcessFindsAllKeysDuringWrites) {
  const Pair pair = Make();
  PutAll(pair.writer.get(), 10);
  const pid_t child = fork();
  if (child == 0) {
    auto reader = SegmentReader::Map(pair.writer->fd(), pair.writer->size());
    if (!reader.ok()) _exit(1);
    _exit(ReadBesideWriter(**reader).empty() ? 0 : 2);
  }
  ReplaceOften(pair.writer.get());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SegmentTest, FilesThatAreNotASegmentAreRejected) {
  const int fd = memfd_create("x", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, 8192), 0);
  EXPECT_EQ(SegmentReader::Map(fd, 8192).code(), kErrBadParam);
  EXPECT_EQ(SegmentReader::Map(fd, 1 << 30).code(), kErrBadParam);
  EXPECT_EQ(SegmentReader::Map(-1, 8192).code(), kErrBadParam);
  close(fd);
}

// Any damage may change answers, but must not crash the reader.
TEST(SegmentTest, ReadersDoNotCrashOnDamagedData) {
  const Pair p = Make();
  ASSERT_TRUE(p.writer->Publish(0, {{"k", "v", 0}, {"l", "w", 0}}).ok());
  Header header;
  ASSERT_EQ(pread(p.writer->fd(), &header, sizeof header, 0),
            static_cast<ssize_t>(sizeof header));
  std::string fixed(header.fixed_size, '\0');
  std::string block(4096, '\0');
  ASSERT_EQ(pread(p.writer->fd(), fixed.data(), fixed.size(), 0),
            static_cast<ssize_t>(fixed.size()));
  ASSERT_EQ(pread(p.writer->fd(), block.data(), block.size(),
                  static_cast<off_t>(header.arena_begin)),
            static_cast<ssize_t>(block.size()));
  const int fd = memfd_create("damaged", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, static_cast<off_t>(header.file_size)), 0);
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string f = fixed;
    std::string b = block.substr(0, 256);
    for (int i = 0; i < 4; ++i) {
      std::string& where = random() % 4 == 0 ? b : f;
      where[random() % where.size()] = static_cast<char>(random());
    }
    ASSERT_GT(pwrite(fd, f.data(), f.size(), 0), 0);
    ASSERT_GT(
        pwrite(fd, b.data(), b.size(), static_cast<off_t>(header.arena_begin)),
        0);
    auto reader = SegmentReader::Map(fd, header.file_size);
    if (!reader.ok()) continue;
    size_t bytes = 0;
    const auto visit = [&](std::string_view k, std::string_view v) {
      bytes += std::string(k).size() + std::string(v).size();
    };
    for (Rank r = 0; r < 4; ++r) {
      (*reader)->ForEachProcKey(r, visit);
      bytes += (*reader)->Version(r) % 2;
      for (const char* key : {"k", "l", "m", "pmix.hname", "pmix.procid"}) {
        bytes += std::string((*reader)->FindProc(r, key).value()).size();
      }
      for (const uint32_t rank : (*reader)->RanksOn(r)) bytes += rank % 2;
      (*reader)->ForEachNodeKey(r, visit);
      (*reader)->ForEachAppKey(r, visit);
    }
    (*reader)->ForEachJobKey(visit);
    (*reader)->ForEachSessionKey(visit);
    (void)(*reader)->NodeByName("a");
  }
  close(fd);
}

}  // namespace
}  // namespace canopy::shm
