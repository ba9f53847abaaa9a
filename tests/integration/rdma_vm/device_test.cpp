// SPDX-License-Identifier: Apache-2.0
// What every test on a real RDMA stack begins with: a device with an active port and an address.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <array>
#include <memory>

namespace {

struct CloseDevice {
  void operator()(ibv_context* context) const { ibv_close_device(context); }
};
using Context = std::unique_ptr<ibv_context, CloseDevice>;

class RdmaDevice : public testing::Test {
 protected:
  RdmaDevice() {
    int count = 0;
    ibv_device** devices = ibv_get_device_list(&count);
    if (devices != nullptr) {
      if (count > 0) context_.reset(ibv_open_device(devices[0]));
      ibv_free_device_list(devices);
    }
  }

  void SetUp() override { ASSERT_NE(context_, nullptr) << "no RDMA device"; }

  Context context_;
};

TEST_F(RdmaDevice, HasAnActivePort) {
  ibv_port_attr port{};
  ASSERT_EQ(ibv_query_port(context_.get(), 1, &port), 0);
  EXPECT_EQ(port.state, IBV_PORT_ACTIVE);
  EXPECT_GE(port.active_mtu, IBV_MTU_1024);
}

TEST_F(RdmaDevice, HasAnAddress) {
  ibv_gid gid{};
  ASSERT_EQ(ibv_query_gid(context_.get(), 1, 0, &gid), 0);
  EXPECT_NE(gid.global.subnet_prefix | gid.global.interface_id, 0U);
}

TEST_F(RdmaDevice, RegistersMemory) {
  std::array<char, 4096> memory{};
  ibv_pd* domain = ibv_alloc_pd(context_.get());
  ASSERT_NE(domain, nullptr);
  const int access =
      IBV_ACCESS_LOCAL_WRITE;  // ibv_reg_mr is a macro that would mix it with another enumeration
  ibv_mr* region = ibv_reg_mr(domain, memory.data(), memory.size(), access);
  EXPECT_NE(region, nullptr);
  if (region != nullptr) {
    EXPECT_EQ(ibv_dereg_mr(region), 0);
  }
  EXPECT_EQ(ibv_dealloc_pd(domain), 0);
}

}  // namespace
