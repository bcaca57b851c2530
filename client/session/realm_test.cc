#include "client/session/realm.h"

#include <gtest/gtest.h>

#include "pmix.h"

namespace canopy::client {
namespace {

TEST(Realm, EachReservedKeyHasARealm) {
  EXPECT_EQ(DefaultRealm(PMIX_UNIV_SIZE), Realm::kSession);
  EXPECT_EQ(DefaultRealm(PMIX_JOB_SIZE), Realm::kJob);
  EXPECT_EQ(DefaultRealm(PMIX_NUM_NODES), Realm::kJob);
  EXPECT_EQ(DefaultRealm(PMIX_APP_SIZE), Realm::kApp);
  EXPECT_EQ(DefaultRealm(PMIX_HOSTNAME), Realm::kNode);
  EXPECT_EQ(DefaultRealm(PMIX_LOCAL_PEERS), Realm::kLocalPart);
  EXPECT_EQ(DefaultRealm(PMIX_LOCAL_RANK), Realm::kProc);
  EXPECT_EQ(DefaultRealm("pmix.no.such"), Realm::kUnknown);
  EXPECT_EQ(DefaultRealm(""), Realm::kUnknown);
}

TEST(Realm, ReservedKeysBeginWithPmix) {
  EXPECT_TRUE(IsReserved("pmix.rank"));
  EXPECT_TRUE(IsReserved("pmix"));
  EXPECT_FALSE(IsReserved("pmi"));
  EXPECT_FALSE(IsReserved("btl.tcp"));
}

}  // namespace
}  // namespace canopy::client
