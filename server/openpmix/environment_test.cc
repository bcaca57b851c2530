#include "server/openpmix/environment.h"

#include <gtest/gtest.h>

namespace canopy::openpmix {
namespace {

TEST(OpenPmixEnvironment, TheVariablesOfAllCodecsNameTheServer) {
  const auto env = ServerEnvironment({"srv", 7}, "127.0.0.1:99");
  EXPECT_EQ(env, (std::vector<std::string>{
                     "PMIX_SERVER_URI41=srv.7;tcp4://127.0.0.1:99",
                     "PMIX_SERVER_URI4=srv.7;tcp4://127.0.0.1:99",
                     "PMIX_SERVER_URI3=srv.7;tcp4://127.0.0.1:99",
                     "PMIX_SECURITY_MODE=native,none",
                     "PMIX_BFROP_BUFFER_TYPE=PMIX_BFROP_BUFFER_NON_DESC",
                     "PMIX_GDS_MODULE=hash"}));
}

TEST(OpenPmixEnvironment, TheUriNamesTheAddressFamily) {
  EXPECT_EQ(ServerUri({"a", 0}, "[::1]:5"), "a.0;tcp6://[::1]:5");
}

}  // namespace
}  // namespace canopy::openpmix
