#include "server/control/descriptors.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

namespace canopy::control {
namespace {

TEST(DescriptorsTest, TheControlServiceIsDescribed) {
  RegisterDescriptors();
  RegisterDescriptors();
  const auto* const service =
      google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
          "canopy.control.v1.Control");
  ASSERT_NE(service, nullptr);
  const auto* const method = service->FindMethodByName("Status");
  ASSERT_NE(method, nullptr);
  EXPECT_EQ(method->input_type()->full_name(),
            "canopy.control.v1.StatusRequest");
}

}  // namespace
}  // namespace canopy::control
