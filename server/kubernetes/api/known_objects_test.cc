#include "server/kubernetes/api/known_objects.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::kubernetes {
namespace {

using Difference = KnownObjects::Difference;

TEST(KnownObjectsTest, ReportsHowAnObjectDiffers) {
  KnownObjects known;
  EXPECT_EQ(known.Record({"n", "a", "1", "10"}), Difference::kNew);
  EXPECT_EQ(known.Record({"n", "a", "1", "10"}), Difference::kNone);
  EXPECT_EQ(known.Record({"n", "a", "1", "11"}), Difference::kChanged);
  EXPECT_EQ(known.Record({"other", "a", "2", "11"}), Difference::kNew);
  EXPECT_EQ(known.size(), 2u);
}

TEST(KnownObjectsTest, RemovesOnlyTheObjectOfTheSameUid) {
  KnownObjects known;
  known.Record({"n", "a", "1", "10"});
  EXPECT_FALSE(known.Remove({"n", "a", "2", "11"}));
  EXPECT_FALSE(known.Remove({"m", "a", "1", "11"}));
  EXPECT_TRUE(known.Remove({"n", "a", "1", "11"}));
  EXPECT_FALSE(known.Remove({"n", "a", "1", "11"}));
}

TEST(KnownObjectsTest, ReturnsTheObjectThatWasReplaced) {
  KnownObjects known;
  known.Record({"n", "a", "1", "10"});
  EXPECT_FALSE(known.TakeReplaced({"n", "a", "1", "11"}));
  EXPECT_FALSE(known.TakeReplaced({"n", "b", "2", "11"}));
  const auto replaced = known.TakeReplaced({"n", "a", "2", "11"});
  ASSERT_TRUE(replaced);
  EXPECT_EQ(replaced->uid, "1");
  EXPECT_EQ(replaced->version, "10");
  EXPECT_EQ(known.size(), 0u);
}

TEST(KnownObjectsTest, ReturnsTheObjectsThatAListLacks) {
  KnownObjects known;
  known.Record({"n", "a", "1", "10"});
  known.Record({"n", "b", "2", "10"});
  known.BeginList();
  known.Record({"n", "a", "1", "10"});
  known.BeginList();  // The list begins again after a failure.
  known.Record({"n", "b", "2", "10"});
  const auto vanished = known.EndList();
  ASSERT_EQ(vanished.size(), 1u);
  EXPECT_EQ(vanished[0].name, "a");
  EXPECT_EQ(known.size(), 1u);
}

TEST(KnownObjectsTest, ReadsTheIdentityThatItWrites) {
  const ObjectIdentity identity{"n", "a", "1", "10"};
  const auto read = IdentityOf(ObjectWith(identity));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->nspace, "n");
  EXPECT_EQ(read->name, "a");
  EXPECT_EQ(read->uid, "1");
  EXPECT_EQ(read->version, "10");
  const auto of_cluster = IdentityOf(ObjectWith({"", "a", "1", "10"}));
  ASSERT_TRUE(of_cluster);
  EXPECT_EQ(of_cluster->nspace, "");
}

TEST(KnownObjectsTest, RejectsIdentitiesThatTheServerDoesNotAssign) {
  for (const ObjectIdentity& identity :
       {ObjectIdentity{"n", "", "1", "10"}, ObjectIdentity{"n", "a", "", "10"},
        ObjectIdentity{"n", "a", "1", ""},
        ObjectIdentity{"n", std::string(600, 'a'), "1", "10"},
        ObjectIdentity{std::string(600, 'n'), "a", "1", "10"}}) {
    EXPECT_FALSE(IdentityOf(ObjectWith(identity)));
  }
  EXPECT_FALSE(IdentityOf(Json()));
  EXPECT_FALSE(IdentityOf(Json::array({1})));
}

}  // namespace
}  // namespace canopy::kubernetes
