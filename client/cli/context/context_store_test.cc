#include "client/cli/context/context_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>

#include "client/cli/context/context.pb.h"

namespace canopy::cli {
namespace {

using Names = std::vector<std::string>;

TEST(ChooseContextTest, ChoosesTheNameOrTheDefaultOrTheOnlyContext) {
  EXPECT_EQ(**ChooseContext({"a", "b"}, "b"), "b");
  EXPECT_EQ(**ChooseContext({"a"}, ""), "a");
  EXPECT_EQ(**ChooseContext({"a", "default", "z"}, ""), "default");
  EXPECT_FALSE(ChooseContext({}, "")->has_value());
}

TEST(ChooseContextTest, ChoosesTheContextOfTheOwnAllocation) {
  const std::vector<std::string> known = {"default", "slurm-16", "slurm-17"};
  EXPECT_EQ(**ChooseContext(known, "", "slurm-17"), "slurm-17");
  EXPECT_EQ(**ChooseContext(known, "", "slurm-18"), "default");
  EXPECT_EQ(**ChooseContext(known, "slurm-16", "slurm-17"), "slurm-16");
  EXPECT_FALSE(ChooseContext({"slurm-16"}, "", "slurm-17")->has_value());
  EXPECT_EQ(**ChooseContext({"mine", "slurm-16"}, "", "slurm-17"), "mine");
  EXPECT_EQ(**ChooseContext({"slurm-16"}, ""), "slurm-16");
}

TEST(DefaultContextNameTest, TheDefaultNameContainsTheIdOfTheAllocation) {
  std::map<std::string, std::string> variables;
  const auto environment = [&](const char* name) -> char* {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.data();
  };
  EXPECT_EQ(DefaultContextName(environment), "default");
  variables = {{"SLURM_JOB_ID", "17"}};
  EXPECT_EQ(DefaultContextName(environment), "default");
  variables["SLURM_JOB_NODELIST"] = "n1";
  EXPECT_EQ(DefaultContextName(environment), "slurm-17");
  variables = {{"PBS_JOBID", "17[3].head"}, {"PBS_NODEFILE", "/x"}};
  EXPECT_EQ(DefaultContextName(environment), "pbs-17-3-.head");
  variables = {{"JOB_ID", "9"}, {"PE_HOSTFILE", "/x"}};
  EXPECT_EQ(DefaultContextName(environment), "sge-9");
  variables["JOB_ID"] = std::string(100, '9');
  EXPECT_TRUE(CheckContextName(DefaultContextName(environment)).ok());
}

TEST(ChooseContextTest, RefusesToChooseAmongSeveral) {
  const auto several = ChooseContext({"a", "b"}, "");
  ASSERT_FALSE(several.ok());
  EXPECT_NE(several.status().message().find("a, b"), std::string::npos);
  const auto unknown = ChooseContext({"a", "b"}, "c");
  EXPECT_EQ(unknown.code(), kErrNotFound);
  EXPECT_NE(unknown.status().message().find("a, b"), std::string::npos);
  EXPECT_EQ(ChooseContext({}, "c").code(), kErrNotFound);
}

TEST(ContextNameTest, RejectsPathsAndHiddenFiles) {
  for (const char* good : {"default", "a.b_c-9", "quickstart-12"}) {
    EXPECT_TRUE(CheckContextName(good).ok()) << good;
  }
  for (const char* bad : {"", ".", "..", "a/b", "../x", ".hidden", "a b"}) {
    EXPECT_FALSE(CheckContextName(bad).ok()) << bad;
  }
  EXPECT_FALSE(CheckContextName(std::string(65, 'a')).ok());
}

class ContextStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = testing::TempDir() + "/storeXXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    parent_ = path + "/canopy";
    directory_ = parent_ + "/contexts";
  }

  static v1::Context MakeContext(const std::string& name) {
    v1::Context context;
    context.set_name(name);
    context.set_cluster_key(std::string("\0\xff key", 6));
    context.add_members()->set_name("node1");
    return context;
  }

  std::string parent_;
  std::string directory_;
};

TEST_F(ContextStoreTest, KeepsSavedContextsUntilTheirRemoval) {
  const ContextStore store(directory_);
  EXPECT_TRUE(store.List()->empty());
  ASSERT_TRUE(store.Save(MakeContext("b")).ok());
  ASSERT_TRUE(store.Save(MakeContext("a")).ok());
  EXPECT_EQ(*store.List(), (Names{"a", "b"}));
  const auto loaded = store.Load("a");
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->cluster_key(), MakeContext("a").cluster_key());
  struct stat info;
  ASSERT_EQ(stat((directory_ + "/a.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  store.Remove("a");
  EXPECT_EQ(*store.List(), Names{"b"});
  store.Remove("b");
  EXPECT_NE(access(parent_.c_str(), F_OK), 0);
}

TEST_F(ContextStoreTest, AnUpdateReplacesTheContext) {
  const ContextStore store(directory_);
  EXPECT_FALSE(store.Update(MakeContext("a")).ok()) << "there is no directory";
  v1::Context context = MakeContext("a");
  ASSERT_TRUE(store.Save(context).ok());
  context.mutable_members(0)->set_pid(4711);
  ASSERT_TRUE(store.Update(context).ok());
  EXPECT_EQ(store.Load("a")->members(0).pid(), 4711);
  EXPECT_EQ(*store.List(), Names{"a"});
  store.Remove("a");
  EXPECT_NE(access(parent_.c_str(), F_OK), 0) << "nothing is left";
}

TEST_F(ContextStoreTest, ASecondSaveOfANameIsRefused) {
  const ContextStore store(directory_);
  ASSERT_TRUE(store.Save(MakeContext("a")).ok());
  EXPECT_EQ(store.Save(MakeContext("a")).code(), kErrExists);
  EXPECT_EQ(*store.List(), Names{"a"});
}

TEST_F(ContextStoreTest, RefusesADirectoryThatOthersMayEnter) {
  const ContextStore store(directory_);
  ASSERT_TRUE(store.Save(MakeContext("a")).ok());
  ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
  EXPECT_FALSE(store.List().ok());
  EXPECT_FALSE(store.Load("a").ok());
  EXPECT_FALSE(store.Save(MakeContext("b")).ok());
}

TEST_F(ContextStoreTest, ADamagedFileIsReportedAsDamaged) {
  const ContextStore store(directory_);
  ASSERT_TRUE(store.Save(MakeContext("a")).ok());
  for (const char* text : {"{", "[]", "{}", "\xff\xfe"}) {
    std::ofstream(directory_ + "/a.json") << text;
    const auto loaded = store.Load("a");
    ASSERT_FALSE(loaded.ok()) << text;
    EXPECT_NE(loaded.status().message().find("damaged"), std::string::npos);
  }
}

}  // namespace
}  // namespace canopy::cli
